/**
 * What a layer costs at the start of a run: from the request to the program's first word, in a workspace of 100,000 files and 2 GB, a new layer for
 * each run. The floor is a run of the same Edge in the same workspace without a layer, confined, too. Overlays only: `CORRAL_HOME` is in the
 * temporary folder, which must be on a disk.
 */
import { compared, interleave, untilAtRest } from "../Pair.ts"
import { atMostOverFloor, type Report } from "../Report.ts"
import { BenchTarget, makeHome, removeHome } from "../Target.ts"
import type { EdgeBenchOptions } from "./EdgeBench.ts"
import { FirstEvents } from "./FirstEvents.ts"
import { makeRepository } from "./Repository.ts"

const FILES = 100_000
const FILE_BYTES = 20_000
const RUNS_A_ROUND = 5
/** Runs on each side before the first figure: what the first snapshot and the first mount prepare. */
const WARM_UP = 2

/** What holds the files of a layer, by the Edge's health. */
const meansOf = async ({ token, url }: BenchTarget): Promise<string> => {
  const response = await fetch(`${url}/v1/health`, { headers: { authorization: `Bearer ${token}` } })
  return ((await response.json()) as { readonly layers: { readonly means: string } }).layers.means
}

export const measureLayers = async (options: EdgeBenchOptions, report: Report): Promise<void> => {
  const home = makeHome()
  try {
    makeRepository(home.workspace, FILES, FILE_BYTES)
    const target = await BenchTarget.start("edge", home, {
      ...options,
      hasQuick: true,
      confinement: "required"
    })
    try {
      await measureStarts(options, report, target)
    } finally {
      await target.stop()
    }
  } finally {
    removeHome(home)
  }
}

const measureStarts = async (
  options: EdgeBenchOptions,
  report: Report,
  target: BenchTarget
): Promise<void> => {
  const means = await meansOf(target)
  if (means !== "overlayfs") throw new Error(`layers of this machine are made by ${means}, not by overlayfs`)
  const events = await FirstEvents.open(target)
  const start = async (isolation: "none" | "overlay"): Promise<number> => {
    await untilAtRest({ floor: target, edge: target }, ["edge"])
    const request = { agentId: "quick", text: "/say done", isolation } as const
    const { after } = await events.follow(request, "run.completed")
    return after("run.started")
  }
  const add = async (what: string, rounds: number, goal?: ReturnType<typeof atMostOverFloor>) => {
    const starts = await interleave(rounds, (side) => start(side === "floor" ? "none" : "overlay"))
    report.add({
      figure: `create → run.started, in a new layer, 100,000 files and 2 GB, ${what}`,
      unit: "ms",
      ...compared(starts, (each) => each),
      ...(goal === undefined ? {} : { goal }),
      rounds
    })
  }
  await add("the first run", 1)
  await interleave(WARM_UP, (side) => start(side === "floor" ? "none" : "overlay"))
  await add("later runs", options.rounds * RUNS_A_ROUND, atMostOverFloor(150))
  events.drop()
}
