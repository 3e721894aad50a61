package cli

// examples are those of every command, by its path. A test tries whether each
// can be typed as it stands.
var examples = map[string]string{
	"": `  sluice demo                      # see it at work, without any account
  sluice collect octocat           # SLUICE_GITHUB_TOKEN holds the token`,

	"up": `  sluice up
  sluice up --every 6h --quiet 22:00-06:00
  sluice up --addr 0.0.0.0:8090 --api-token @api.token --config sluice.yaml`,
	"collect": `  sluice collect octocat
  sluice collect octocat hubot --token-file tokens.txt
  sluice collect octocat --dry-run
  sluice collect pokeapi:all --set base=http://127.0.0.1:8093`,
	"system": `  sluice system
  sluice system -o json`,
	"source": `  sluice source list
  sluice source check gitlab`,
	"source check": `  sluice source check gitlab
  sluice source check pokeapi -o json`,
	"source sim": `  sluice source sim pokeapi --records 500`,
	"source add": `  sluice source add shop.yaml
  sluice source add gitlab --name our-gitlab --set url=https://git.example.org`,
	"source list": `  sluice source list`,
	"source show": `  sluice source show gitlab
  sluice source show shop -o json`,
	"source remove": `  sluice source remove shop`,
	"source probe": `  sluice source probe gitlab --target my-group
  sluice source probe my.yaml --set url=https://api.example.org -o json`,
	"source import": `  sluice source import airbyte manifest.yaml --out shop.yaml`,
	"source import airbyte": `  sluice source import airbyte manifest.yaml --out shop.yaml
  sluice source import airbyte manifest.yaml --name shop -o json`,
	"doc search": `  sluice doc search crash parser
  sluice doc search '"index out of range" -windows pars*' --kind issues,pulls`,
	"account": `  sluice account list
  sluice account set octocat --token-file new.token`,
	"account add": `  sluice account add octocat --token-file octocat.token
  sluice account add octocat --token-file -`,
	"account list": `  sluice account list
  sluice account list --status paused -o json`,
	"account show": `  sluice account show octocat`,
	"account purge": `  sluice account purge octocat
  sluice account purge octocat --yes --cancel`,
	"account set": `  sluice account set octocat --token-file new.token
  sluice account set octocat --keep 500 --hours "09:00-18:00 Asia/Seoul"`,
	"account schedule": `  sluice account schedule octocat
  sluice account schedule octocat --every 6h
  sluice account schedule octocat --cron '0 3 * * *' --zone Asia/Seoul`,
	"account delete": `  sluice account delete octocat`,
	"account pause":  `  sluice account pause octocat --reason "token is being renewed"`,
	"account resume": `  sluice account resume octocat`,
	"refresh": `  sluice refresh
  sluice refresh item-equipment:OCID basic:OCID --priority low`,
	"timer": `  sluice timer set tea --in 5m
  sluice timer list --status WAITING`,
	"timer set": `  sluice timer set tea --in 5m --payload '{"cup":1}'
  sluice timer set launch --at 2026-12-01T09:00:00+09:00 --webhook https://example.com/hook`,
	"timer reschedule": `  sluice timer reschedule tea --in 10m`,
	"timer cancel":     `  sluice timer cancel tea`,
	"timer list": `  sluice timer list
  sluice timer list --status DEAD,DELIVERING --prefix order-`,
	"timer show":      `  sluice timer show tea`,
	"timer redeliver": `  sluice timer redeliver tea`,
	"timer watch": `  sluice timer watch
  sluice timer watch -o json`,
	"timer stats":  `  sluice timer stats --hours 1`,
	"timer missed": `  sluice timer missed`,

	"top": `  sluice top
  sluice top --once
  sluice top -o json`,
	"run": `  sluice run list --active
  sluice run show 8 --ledger`,
	"run list": `  sluice run list --active
  sluice run list --status FAILED
  sluice run list --account octocat --limit 5`,
	"run show": `  sluice run show 8
  sluice run show 8 --ledger`,
	"run watch": `  sluice run watch
  sluice run watch 8`,
	"run priority": `  sluice run priority 8 high`,
	"run resume":   `  sluice run resume 8`,
	"run cancel": `  sluice run cancel 8 --reason "not needed any more"
  sluice run cancel --all --account octocat --dry-run`,
	"job": `  sluice job list --run 8 --status FAILED
  sluice job retry 123`,
	"job list": `  sluice job list --run 8 --status FAILED
  sluice job list --account octocat --type REPO_ISSUES --error server`,
	"job show": `  sluice job show 123`,
	"job cancel": `  sluice job cancel --all --account octocat --dry-run
  sluice job cancel --all --type REPO_ISSUES --reason "too much for now"`,
	"job retry": `  sluice job retry 123
  sluice job retry --all --error server --account octocat --dry-run`,
	"quota": `  sluice quota
  sluice quota --owner octocat`,
	"quota reset": `  sluice quota reset octocat`,
	"snapshot":    `  sluice snapshot get basic:OCID`,
	"snapshot history": `  sluice snapshot history basic:OCID
  sluice snapshot history basic:OCID --values --limit 0 -o json`,
	"snapshot get": `  sluice snapshot get item-equipment:OCID --wait
  sluice snapshot get basic:NAME --name`,
	"stats": `  sluice stats octocat
  sluice stats --leaderboard --by commits --limit 10
  sluice stats --global`,
	"doc": `  sluice doc list issues --state open
  sluice doc get issues 42
  sluice doc search crash parser`,
	"doc list": `  sluice doc list issues --repository octocat/hello-world --state open --sort -updated
  sluice doc list commits --account octocat --created-from 2026-01-01 --fields sha,author,message
  sluice doc list pulls --label bug --limit 0 --format csv`,
	"doc get": `  sluice doc get issues 42
  sluice doc get commits 11:7fd1a60b01f91b314f59955a4e4d4e80d8edf11d --account octocat --raw`,
	"changes": `  sluice changes
  sluice changes --after 1204 --kind issues --kind pulls
  sluice changes --after now --follow -o json`,
	"export": `  sluice export --kind commits --format csv --account octocat --since 2026-01-01
  sluice export --kind pulls --out pulls.parquet
  sluice export --kind issues --changed-since 1204`,

	"query": `  sluice query list
  sluice query run commits-by-account`,
	"query list": `  sluice query list
  sluice query list -o json`,
	"query save": `  sluice query save commits-by-account "SELECT account, count(*) AS commits FROM commits GROUP BY account"
  sluice query save open-issues --file open-issues.sql --about "Issues that wait"`,
	"query run": `  sluice query run commits-by-account
  sluice query run commits-by-account --format csv`,
	"query remove": `  sluice query remove commits-by-account`,
	"sql": `  sluice sql "SELECT account, count(*) AS commits FROM commits GROUP BY account ORDER BY 2 DESC"
  sluice sql --file query.sql --format csv --limit 100000 > answer.csv
  sluice sql --file - --limit 10 --output json`,

	"compare": `  sluice compare github dump.jsonl --kind commits
  sluice compare github postgres://reader@old/db --table commits --kind commits --map sha=hash --ignore author
  sluice compare github https://other.example.com --watch 5m`,

	"dlq": `  sluice dlq list
  sluice dlq redrive --why OPENAPI00003`,
	"dlq list": `  sluice dlq list --why OPENAPI00003 --limit 10`,
	"dlq show": `  sluice dlq show LETTER`,
	"dlq redrive": `  sluice dlq redrive LETTER
  sluice dlq redrive --why STATISTICS`,
	"dlq discard": `  sluice dlq discard LETTER`,
	"archive": `  sluice archive list --from 2026-09-01 --to 2026-09-30
  sluice archive verify`,
	"archive list": `  sluice archive list --from 2026-09-01 --to 2026-09-30`,
	"archive verify": `  sluice archive verify
  sluice archive verify 2026-09-12`,
	"archive restore": `  sluice archive restore item-equipment:OCID
  sluice archive restore --day 2026-09-12`,
	"archive export": `  sluice archive export item-equipment:OCID --day 2026-09-12 --out values.jsonl`,
	"archive run":    `  sluice archive run`,
	"token": `  sluice token create grafana --role read
  sluice token list`,
	"token create": `  sluice token create alice --role admin
  sluice token create grafana --role read --expires-in 2160h`,
	"token list":   `  sluice token list`,
	"token revoke": `  sluice token revoke grafana`,
	"audit": `  sluice audit list --since 24h
  sluice audit export --format csv`,
	"audit list": `  sluice audit list --since 24h
  sluice audit list --actor token:alice --action cancel-run`,
	"audit export": `  sluice audit export --since 2026-11-01
  sluice audit export --format csv`,
	"sink":         `  sluice sink list`,
	"sink letters": `  sluice sink letters hook`,
	"sink redrive": `  sluice sink redrive hook --all`,
	"sink discard": `  sluice sink discard hook LETTER`,
	"sink list": `  sluice sink list
  sluice sink list -o json --server http://127.0.0.1:8090`,
	"sync": `  sluice sync sqlite:collected.db
  sluice sync postgres://reports@db.example.org/reports?schema=github
  sluice sync @/etc/sluice/warehouse.url --anew`,
	"notify": `  sluice notify test
  sluice notify list --status dead`,
	"notify test": `  sluice notify test
  sluice notify test ops`,
	"notify list":  `  sluice notify list --status dead`,
	"notify retry": `  sluice notify retry NOTIFICATION`,
	"doctor": `  sluice doctor
  sluice doctor --config sluice.yaml -o json`,
	"backup": `  sluice backup sluice-monday.backup
  sluice backup /mnt/vault/sluice.backup --with-key --data-dir /var/lib/sluice`,
	"restore": `  sluice restore sluice-monday.backup
  sluice restore sluice-monday.backup --data-dir /var/lib/sluice --force
  sluice restore sluice-monday.backup --check`,
	"key": `  sluice key rotate`,
	"key rotate": `  sluice key rotate
  sluice key rotate --prepare --config sluice.yaml
  sluice key rotate --drop-old --config sluice.yaml`,
	"config": `  sluice config show
  sluice config check --config sluice.yaml`,
	"config show": `  sluice config show
  sluice config show --changed
  sluice config show --workers 8 -o json`,
	"config check": `  sluice config check --config sluice.yaml`,
	"config init": `  sluice config init
  sluice config init sluice.yaml`,
	"version": `  sluice version
  sluice version --verbose -o json`,
	"health": `  sluice health
  sluice health --server http://127.0.0.1:8090`,

	"demo": `  sluice demo
  sluice demo --accounts 20 --seed 7 --exit-when-done
  sluice demo --refresh --exit-when-done
  sluice demo --source pokeapi --exit-when-done`,
	"reference":      `  sluice reference man man`,
	"sim":            `  sluice sim github --accounts 100`,
	"sim github":     `  sluice sim github --accounts 100 --window 30s --mutate=10`,
	"sim maplestory": `  sluice sim maplestory --characters 500 --per-second 50`,
	"load": `  sluice load
  sluice load thundering-herd priority-inversion --seconds 60
  sluice load --state mysql://root@127.0.0.1/load --redis redis://127.0.0.1`,
}
