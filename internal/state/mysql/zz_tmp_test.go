package mysql_test
import ("testing";"os";"os/exec";"fmt";"sync";"sync/atomic";"time";"strings";"sluice/internal/state";"sluice/internal/domain")
func cpu(t testing.TB) float64 { b,_:=os.ReadFile("/proc/"+os.Getenv("H2PID")+"/stat"); f:=strings.Fields(string(b)); var u,s float64; fmt.Sscan(f[13],&u); fmt.Sscan(f[14],&s); return (u+s)/100 }
func me() float64 { b,_:=os.ReadFile("/proc/self/stat"); f:=strings.Fields(string(b)); var u,s float64; fmt.Sscan(f[13],&u); fmt.Sscan(f[14],&s); return (u+s)/100 }
func TestZZ(t *testing.T){
 exec.Command("mariadb","--no-defaults","-uroot","-S","/tmp/h2/s.sock","-e","drop database if exists zz; create database zz").Run()
 o:=mustOpen(t,"mysql://root@127.0.0.1:33977/zz")
 n:=40000
 refs:=planned(t,o.Store,"octocat",n+1)
 var next atomic.Int64; c0,m0,s,t0:=cpu(t),me(),time.Now(),o.db.Transactions()
 var all sync.WaitGroup
 for range 50 { all.Go(func(){ for i:=next.Add(1); i<=int64(n); i=next.Add(1){ id:=refs[i-1].ID
   if err:=o.Claim(t.Context(),state.Claim{Job:id,At:time.Now()}); err!=nil {t.Error(err);return}
   oc:=state.Outcome{Job:id,Attempt:1,At:time.Now(),To:domain.JobSucceeded,Items:1}
   if _,err:=o.Finish(t.Context(),oc); err!=nil {t.Error(err);return} }})}
 all.Wait(); d:=time.Since(s)
 tx:=float64(o.db.Transactions()-t0)
 fmt.Printf("%.0f jobs/s, %.1f jobs/txn, txn %.2f ms, server cpu %.1f us/job, own cpu %.1f us/job\n", float64(n)/d.Seconds(), float64(n)/tx, d.Seconds()*1000/tx, (cpu(t)-c0)*1e6/float64(n), (me()-m0)*1e6/float64(n))
}
func TestYY(t *testing.T){
 exec.Command("mariadb","--no-defaults","-uroot","-S","/tmp/h2/s.sock","-e","drop database if exists zz; create database zz").Run()
 o:=mustOpen(t,"mysql://root@127.0.0.1:33977/zz")
 s:=time.Now()
 for k:=range 20 { planned(t,o.Store,fmt.Sprint("octocat",k),50000) }
 fmt.Println("planned", time.Since(s))
 s=time.Now(); n:=0
 o.Waiting(t.Context(), func(domain.JobRef) error {n++; return nil})
 fmt.Println("waiting", n, time.Since(s))
}
