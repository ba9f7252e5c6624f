/**
 * Where figures go: one JSON line each on stdout, a line for people on stderr, and a table for the documentation.
 *
 * A figure stands beside its floor, measured in the same run; times alone would say more about the machine than about the program.
 */
import type { Machine } from "./Machine.ts"
import type { Interval } from "./Statistics.ts"

/** What a figure must not exceed, by itself, by its distance from the floor or by a factor of the floor; or what it must reach of it. */
export interface Goal {
  readonly limit: number
  readonly of: "edge" | "distance" | "ratio" | "share" | "reach"
}

export const atMost = (limit: number): Goal => ({ limit, of: "edge" })
export const atMostTimesFloor = (limit: number): Goal => ({ limit, of: "ratio" })
export const atMostOverFloor = (limit: number): Goal => ({ limit, of: "distance" })
export const atLeast = (limit: number): Goal => ({ limit, of: "reach" })
export const atLeastOfFloor = (limit: number): Goal => ({ limit, of: "share" })

export interface Figure {
  readonly figure: string
  readonly unit: string
  readonly edge: number
  readonly floor: number
  /** The same of a floor that does not wait for the disk. */
  readonly volatile?: number
  /** The same of an earlier build, and the ratio of this one to it. */
  readonly previous?: number
  readonly change?: Interval
  readonly goal?: Goal
  /** Events the Edge's readers missed, got twice or out of order, over all rounds. */
  readonly lost?: number
  /** Measurements on each side; the figure is their median. */
  readonly rounds: number
}

export class Report {
  readonly figures: Array<Figure> = []
  readonly machine: Machine
  readonly date: string
  private readonly bench: string
  private readonly label: string

  /** `label` heads the column of what is measured. */
  constructor(bench: string, label: string, machine: Machine, date: string) {
    this.bench = bench
    this.label = label
    this.machine = machine
    this.date = date
  }

  add(figure: Figure): void {
    this.figures.push(figure)
    const { change, edge, floor, goal, lost, previous, rounds, unit, volatile } = figure
    const line = {
      bench: this.bench,
      figure: figure.figure,
      unit,
      edge: rounded(edge),
      floor: rounded(floor),
      ratio: rounded(edge / floor),
      ...(volatile === undefined ? {} : { volatile: rounded(volatile) }),
      ...(previous === undefined ? {} : { previous: rounded(previous) }),
      ...(change === undefined
        ? {}
        : { change: rounded(change.median), low: rounded(change.low), high: rounded(change.high) }),
      ...(goal === undefined ? {} : { goal: goalText(goal, unit), met: isMet(figure, goal) }),
      ...(lost === undefined ? {} : { lost }),
      rounds,
      node: process.version,
      machine: this.machine,
      date: this.date
    }
    process.stdout.write(`${JSON.stringify(line)}\n`)
    const since =
      change === undefined
        ? ""
        : `  ${rounded(change.median)} of the earlier build (${rounded(change.low)} to ${rounded(change.high)})`
    process.stderr.write(`${cells(figure).join("  ")}${since}\n`)
  }

  /** Events lost over all figures. */
  get lost(): number {
    return this.figures.reduce((sum, { lost = 0 }) => sum + lost, 0)
  }

  /** The figures as a Markdown table, with the facts of the machine above it. */
  markdown(): string {
    const { cores, cpu, platform, fsync, load } = this.machine
    const facts = `${this.date.slice(0, 10)}, Node ${process.version}, ${platform}, ${cores} cores (${cpu}), fdatasync ${rounded(fsync)} ms, load average before the start ${rounded(load)}.`
    const head = ["figure", this.label, "floor", "ratio", "goal", "met", "lost"]
    const hasVolatile = this.figures.some(({ volatile }) => volatile !== undefined)
    if (hasVolatile) head.push("floor, not durable")
    const rows = [head, head.map(() => "---"), ...this.figures.map((each) => cells(each, hasVolatile))]
    return `${facts}\n\n${rows.map((row) => `| ${row.join(" | ")} |`).join("\n")}`
  }
}

const cells = (figure: Figure, hasVolatile = figure.volatile !== undefined): ReadonlyArray<string> => {
  const { unit, edge, floor, goal, lost, volatile } = figure
  return [
    figure.figure,
    `${rounded(edge)} ${unit}`,
    `${rounded(floor)} ${unit}`,
    Number.isFinite(edge / floor) ? `${rounded(edge / floor)}` : "",
    goal === undefined ? "" : goalText(goal, unit),
    goal === undefined ? "" : isMet(figure, goal) ? "yes" : "no",
    lost === undefined ? "" : `${lost}`,
    ...(hasVolatile ? [volatile === undefined ? "" : `${rounded(volatile)} ${unit}`] : [])
  ]
}

const goalText = ({ limit, of }: Goal, unit: string): string =>
  ({
    edge: `≤ ${limit} ${unit}`,
    distance: `≤ floor + ${limit} ${unit}`,
    ratio: `≤ ${limit} × floor`,
    share: `≥ ${limit} of floor`,
    reach: `≥ ${limit} ${unit}`
  })[of]

const isMet = ({ edge, floor }: Figure, { limit, of }: Goal): boolean => {
  switch (of) {
    case "share":
      return edge / floor >= limit
    case "reach":
      return edge >= limit
    default:
      return { edge, distance: edge - floor, ratio: edge / floor }[of] <= limit
  }
}

/** Three significant digits, whole numbers kept whole. */
const rounded = (value: number): number =>
  Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3))
