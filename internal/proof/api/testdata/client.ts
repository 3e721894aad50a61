// Uses the client that is generated from the description: lists accounts, starts
// a collection at the simulated upstream, and follows its events to the end.
//   node client.js URL API_TOKEN LOGIN TOKEN
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Progress = components["schemas"]["Progress"];
type Problem = components["schemas"]["Problem"];

interface StreamEvent {
  id: string;
  event: string;
  data: string;
}

const [url, apiToken, login, token] = process.argv.slice(2) as [string, string, string, string];
const authorization = { Authorization: `Bearer ${apiToken}` };
const client = createClient<paths>({ baseUrl: url, headers: authorization });

function must<T>(what: string, answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) {
    throw new Error(`${what}: ${JSON.stringify(answer.error)}`);
  }
  return answer.data;
}

async function* events(path: string, lastEventID?: string): AsyncGenerator<StreamEvent, number> {
  const headers: Record<string, string> = { ...authorization };
  if (lastEventID !== undefined) {
    headers["Last-Event-ID"] = lastEventID;
  }
  const response = await fetch(url + path, { headers });
  if (response.status !== 200 || response.body === null) {
    return response.status;
  }
  let text = "";
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    text += part;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const event: StreamEvent = { id: "", event: "", data: "" };
      for (const line of text.slice(0, end).split("\n")) {
        const [name, ...rest] = line.split(": ");
        if (name === "id" || name === "event" || name === "data") {
          event[name] = rest.join(": ");
        }
      }
      text = text.slice(end + 2);
      if (event.data !== "") {
        yield event;
      }
    }
  }
  return response.status;
}

async function main(): Promise<void> {
  const before = must("list accounts", await client.GET("/api/v1/accounts"));
  const request = { body: { source: "github", login, token }, params: { header: { "Idempotency-Key": `typescript-${login}` } } };
  const started = must("sign up", await client.POST("/api/v1/accounts", request));
  const again = must("sign up again", await client.POST("/api/v1/accounts", request));
  const run = started.run?.id;
  if (run === undefined || again.run?.id !== run || !again.started) {
    throw new Error(`the same request began run ${again.run?.id} beside ${run}`);
  }
  const path = `/api/v1/runs/${run}/events`;
  let last: Progress | undefined;
  let id = "";
  let first = "";
  for await (const event of events(path)) {
    if (event.event === "error") {
      throw new Error((JSON.parse(event.data) as Problem).detail);
    }
    first ||= event.event;
    last = JSON.parse(event.data) as Progress;
    id = event.id;
  }
  const resumed = await events(path, id).next();
  const after = must("list accounts", await client.GET("/api/v1/accounts"));
  const missing = await client.GET("/api/v1/accounts/{id}", { params: { path: { id: "nobody" } } });
  console.log(
    JSON.stringify({
      before: before.items.length,
      after: after.items.length,
      first,
      status: last?.status,
      documents: last?.documents,
      resumed: resumed.value,
      missing: missing.error?.code,
      page: missing.error?.type,
    }),
  );
}

main().catch((problem: unknown) => {
  console.error(problem);
  process.exit(1);
});
