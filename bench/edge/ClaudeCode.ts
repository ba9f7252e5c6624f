/** What a sustained stream of an agent with longer lines costs: server CPU per event of Claude Code's protocol, with one reader. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { comparedSets, lostOf, onFreshServers } from "../Pair.ts"
import { atMost, type Report } from "../Report.ts"
import type { BenchTarget } from "../Target.ts"
import type { EdgeBenchOptions } from "./EdgeBench.ts"
import { createAgentRun } from "./RunClient.ts"
import { Subscriber } from "./Subscriber.ts"

const COUNT = 100_000

const stream = async (target: BenchTarget, count: number) => {
  const id = await createAgentRun(target, "claude-code", `${count}`)
  let start: () => void = () => undefined
  const running = new Promise<void>((resolve) => (start = resolve))
  const onEvent = (_run: string, type: string) => type === "run.started" && start()
  const reader = await Subscriber.open(target, { runId: id, onEvent })
  await running
  const before = target.cpuMicros()
  await reader.until(count)
  const cpu = (target.cpuMicros() - before) / count
  await reader.closed
  return { cpu, lost: reader.faults + Math.abs(count - reader.deltas) }
}

/** A folder whose program `claude` streams as fast as it can, before all others. */
const withProgram = async (body: () => Promise<void>): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "corral-bench-bin-"))
  const { PATH: path = "" } = process.env
  copyFileSync(fileURLToPath(new URL("claude.mjs", import.meta.url)), join(folder, "claude"))
  try {
    process.env.PATH = [folder, dirname(process.execPath), path].join(delimiter)
    await body()
  } finally {
    process.env.PATH = path
    rmSync(folder, { recursive: true, force: true })
  }
}

export const measureClaudeCode = (options: EdgeBenchOptions, report: Report): Promise<void> =>
  withProgram(async () => {
    const shapes = [{ count: COUNT }]
    const [taken] = await onFreshServers(
      options,
      shapes,
      (target) => stream(target, 20_000),
      (target, { count }) => stream(target, count)
    )
    if (taken === undefined) return
    const [, sets] = taken
    report.add({
      figure: "server CPU per event, 1 reader, claude-code",
      unit: "µs",
      ...comparedSets(sets, ({ cpu }) => cpu),
      goal: atMost(11),
      lost: lostOf(sets),
      rounds: options.rounds * options.servers
    })
  })
