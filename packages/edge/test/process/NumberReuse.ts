/**
 * Program that is alone in a process namespace: it lets a process take the number of an older one, which an earlier search has read, and prints whether
 * a search finds it. It chooses the next number of the namespace, so elsewhere it would give numbers away that other programs have just had.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { writeFileSync } from "node:fs"
import { findAllSurvivors, processStartTime, SeenProcesses } from "../../src/process/MarkSearch.ts"

const MARK = "CORRAL_RUN_ID=test"

const start = async (env: Record<string, string> = {}): Promise<ChildProcess> => {
  const child = spawn("/bin/sh", ["-c", "echo ready; read line"], {
    env,
    stdio: ["pipe", "pipe", "inherit"]
  })
  await once(child.stdout, "data")
  return child
}

/** Start times have steps of 10 ms. */
const startTimeAfter = async (time: number): Promise<number> => {
  const { pid } = await start()
  const startedAt = processStartTime(pid)
  return startedAt > time ? startedAt : startTimeAfter(time)
}

const old = await start()
const seen = new SeenProcesses()
findAllSurvivors([{ mark: MARK }], seen)
const since = await startTimeAfter(processStartTime(old.pid))
old.kill("SIGKILL")
await once(old, "exit")
writeFileSync("/proc/sys/kernel/ns_last_pid", String(Number(old.pid) - 1))
const next = await start({ CORRAL_RUN_ID: "test" })
const { pids = [] } = findAllSurvivors([{ mark: MARK, since }], seen)[0] ?? {}
console.log(JSON.stringify({ hasNumber: next.pid === old.pid, pids: pids.map((pid) => pid === next.pid) }))
// All that is left ends with the first process of the namespace.
process.exit()
