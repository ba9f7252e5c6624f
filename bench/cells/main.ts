/**
 * `npm run simulate:cells`: 100,000 devices over ten cells, from measured costs of one cell. Prints the tables of ADR 93.
 *
 * Does not: measure anything. The same seed gives the same tables.
 */
import { simulateCell } from "./Cell.ts"
import { measured } from "./MeasuredCosts.ts"
import { devicesOf, place, placements, rebalance } from "./Placement.ts"
import { randomOf } from "./Random.ts"

const [DEVICES, CELLS, SEED, REPEATS] = [100_000, 10, 20_261_127, 20]
const CORES = 2
/** Events of an active device in a second: a run that says a word now and then. */
const PER_SECOND = 2
const MINUTE = 60_000

const print = (line = ""): void => void process.stdout.write(`${line}\n`)
const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string | number>>): void => {
  const lines = [head, head.map(() => "---"), ...rows]
  for (const line of lines) print(`| ${line.join(" | ")} |`)
  print()
}
const whole = (value: number): string => value.toFixed(0)
const percent = (share: number): string => `${(share * 100).toFixed(0)} %`

const printFit = (): void => {
  const { links, p50, p99, perSecond } = measured.smallPushes
  const closed = { active: links, perSecond: Number.POSITIVE_INFINITY, millis: MINUTE }
  const small = simulateCell(closed, randomOf(SEED))
  const cut = { at: 0, devices: 5_000, active: 0 }
  const crash = simulateCell({ active: 1, perSecond: 1, millis: 9_500, cut }, randomOf(SEED))
  print("### The model next to the measurements\n")
  table(
    ["", "simulated", "measured"],
    [
      [`pushes a second of ${links} links`, whole(small.pushesPerSecond), perSecond],
      ["acknowledgement, p50", `${whole(small.p50)} ms`, `${p50} ms`],
      ["acknowledgement, p99", `${whole(small.p99)} ms`, `${p99} ms`],
      ["of 5,000 devices, linked 9.5 s after a crash", whole(5_000 - crash.unlinked), "5,000"]
    ]
  )
}

const printPlacements = (): void => {
  print("### How even the cells are\n")
  const rows = Object.entries(placements).map(([name, placement]) => {
    const populations = Array.from({ length: REPEATS }, (_, at) =>
      place(DEVICES, CELLS, placement, randomOf(SEED + at))
    )
    const worst = populations.map((groups) => Math.max(...devicesOf(groups, CELLS))).sort((a, b) => a - b)
    const largest = populations.flat().reduce((most, { devices }) => Math.max(most, devices), 0)
    const moves = populations.map((groups) => rebalance(groups, CELLS, 0.1))
    const most = moves.reduce((a, b) => (a.devices > b.devices ? a : b))
    return [
      name,
      whole(worst[REPEATS / 2] ?? 0),
      whole(worst.at(-1) ?? 0),
      whole(largest),
      `${most.groups} groups, ${most.devices} devices`
    ]
  })
  table(
    [
      "placement",
      "fullest cell, median of 20 seeds",
      "worst of 20",
      "largest group",
      "moves until +10 % at most, worst of 20"
    ],
    rows
  )
}

const printActivity = (devices: number): void => {
  print(`### A cell with ${devices} devices, by the share of them that has a run\n`)
  const rows = [0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4].map((share) => {
    const active = Math.round(devices * share)
    const { p50, p99, pushesPerSecond } = simulateCell(
      { active, perSecond: PER_SECOND, millis: MINUTE },
      randomOf(SEED)
    )
    const cpu = (devices * measured.idle + pushesPerSecond * measured.push) / 1_000 / CORES
    return [
      percent(share),
      whole(pushesPerSecond),
      `${p50.toFixed(1)} ms`,
      `${p99.toFixed(1)} ms`,
      percent(cpu)
    ]
  })
  table(["share with a run", "pushes a second", "acknowledgement, p50", "p99", "of two cores"], rows)
}

const printFailures = (devices: number): void => {
  print(`### Failures of a cell with ${devices} devices\n`)
  const until = 20_000 + measured.failover
  const rows = [0.05, 0.1, 0.2].map((share) => {
    const active = Math.round(devices * share)
    const load = { active, perSecond: PER_SECOND, millis: 3 * MINUTE }
    const failover = simulateCell({ ...load, outage: { from: 20_000, until } }, randomOf(SEED))
    const cut = { at: 20_000, devices: Math.round(devices / 3), active: Math.round(active / 3) }
    const crash = simulateCell({ ...load, cut }, randomOf(SEED))
    return [
      percent(share),
      `${(failover.longest / 1_000).toFixed(1)} s`,
      `${(failover.caughtUpAfter / 1_000).toFixed(1)} s`,
      `${(crash.longest / 1_000).toFixed(1)} s`,
      `${(crash.caughtUpAfter / 1_000).toFixed(1)} s`
    ]
  })
  table(
    [
      "share with a run",
      "failover: longest wait of an event",
      "caught up after its end",
      "one of three Hubs crashes: longest wait",
      "caught up after the crash"
    ],
    rows
  )
}

const hashed = place(DEVICES, CELLS, placements["by a hash"] ?? (() => 0), randomOf(SEED))
print(`${DEVICES} devices, ${CELLS} cells, seed ${SEED}\n`)
printFit()
printPlacements()
printActivity(DEVICES / CELLS)
printActivity(Math.max(...devicesOf(hashed, CELLS)))
printFailures(DEVICES / CELLS)
