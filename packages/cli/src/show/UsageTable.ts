/** Table of a usage report, and the use of limits today, as lines of text. Pure. All names pass `escapeLine`. */
import { costText, countText } from "@corral/domain/run/UsageText"
import type { LimitUse, ProjectLimits } from "@corral/domain/usage/Limit"
import type { UsageDimension, UsageReport, UsageRow, UsageSums } from "@corral/domain/usage/UsageReport"
import { columnsOf, fitColumns, type Row } from "../terminal/Rows.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

/** Columns of one name, at most. */
const NAME = 40
const GAP = "  "

const names: Readonly<Record<UsageDimension, (row: UsageRow) => string>> = {
  day: ({ day }) => day ?? "",
  person: ({ userId, userName }) => userName ?? userId ?? "unknown user",
  project: ({ projectId, projectName }) => projectName ?? projectId ?? "",
  agent: ({ agentId }) => agentId ?? "",
  model: ({ model }) => model ?? "not reported"
}

const figureNames = ["runs", "input", "output", "cost"] as const

/** Runs without a price have no cost, which is not a cost of zero. */
const costOf = ({ costUsd, runs, runsWithoutCost }: UsageSums): string =>
  costUsd === 0 && runs > 0 && runs === runsWithoutCost ? "–" : costText(costUsd)

const figuresOf = (sums: UsageSums): ReadonlyArray<string> => [
  sums.runs.toLocaleString("en"),
  countText(sums.inputTokens),
  countText(sums.outputTokens),
  costOf(sums)
]

/** What the cost does not say. */
const noteOf = ({ estimatedUsd, runsWithoutCost }: UsageSums): string =>
  [
    ...(estimatedUsd > 0 ? [`${costText(estimatedUsd)} estimated`] : []),
    ...(runsWithoutCost > 0
      ? [runsWithoutCost === 1 ? "1 run without a price" : `${runsWithoutCost} runs without a price`]
      : [])
  ].join(", ")

const padStart = (text: string, columns: number): string =>
  " ".repeat(Math.max(0, columns - columnsOf(text))) + text
const padEnd = (text: string, columns: number): string =>
  text + " ".repeat(Math.max(0, columns - columnsOf(text)))

/** A line of the table: names, figures, and a note. */
interface Line {
  readonly names: ReadonlyArray<string>
  readonly figures: ReadonlyArray<string>
  readonly note: string
}

/** Rows of the report below their headings, and the total. */
export const usageTable = ({ by, rows, total, truncated }: UsageReport): ReadonlyArray<Row> => {
  const lines: ReadonlyArray<Line> = rows.map((row) => ({
    names: by.map((dimension) => fitColumns(escapeLine(names[dimension](row)), NAME)),
    figures: figuresOf(row),
    note: noteOf(row)
  }))
  const head: Line = { names: by, figures: figureNames, note: "" }
  const sum: Line = {
    names: by.map((_, at) => (at === 0 ? "total" : "")),
    figures: figuresOf(total),
    note: noteOf(total)
  }
  const all = [head, ...lines, sum]
  const widest = (part: "names" | "figures", at: number): number =>
    Math.max(...all.map((line) => columnsOf(line[part][at] ?? "")))
  const textOf = ({ figures, names: cells }: Line): string =>
    [
      ...cells.map((cell, at) => padEnd(cell, widest("names", at))),
      ...figures.map((cell, at) => padStart(cell, widest("figures", at)))
    ].join(GAP)
  const rowOf = (line: Line): Row => [
    { text: textOf(line) },
    ...(line.note === "" ? [] : [{ text: `${GAP}${line.note}`, style: "dim" } as const])
  ]
  return [
    [{ text: textOf(head), style: "dim" }],
    ...lines.map(rowOf),
    rowOf(sum),
    ...(truncated === true
      ? [
          [
            {
              text: "There are more rows. Choose a shorter time, a project, or fewer columns.",
              style: "yellow"
            } as const
          ]
        ]
      : [])
  ]
}

/** `$3.20 of $10.00 used, $0.50 reserved`, for each amount of a limit. */
const amountsOf = ({ limit, reserved, used }: LimitUse): string => {
  const amount = (name: "costUsd" | "tokens", format: (value: number) => string, unit: string) => {
    const of = limit[name]
    if (of === undefined) return []
    const held = reserved[name] > 0 ? `, ${format(reserved[name])} reserved` : ""
    return [`${format(used[name])} of ${format(of)}${unit} used${held}`]
  }
  return [...amount("costUsd", costText, ""), ...amount("tokens", countText, " tokens")].join("; ")
}

const tints = { open: undefined, near: "yellow", reached: "red" } as const

/** The use of the limits of a project today. None without limits. */
export const limitRows = ({ day, timeZone, today }: ProjectLimits): ReadonlyArray<Row> => {
  if (today.length === 0) return []
  const nameOf = ({ name, subject }: LimitUse): string =>
    subject === "everyone" ? "everyone" : fitColumns(escapeLine(name ?? subject), NAME)
  const width = Math.max(...today.map((use) => columnsOf(nameOf(use))))
  return [
    [{ text: `limits of ${day} (${escapeLine(timeZone)})`, style: "dim" }],
    ...today.map((use): Row => [
      { text: `${padEnd(nameOf(use), width)}${GAP}` },
      { text: amountsOf(use), style: tints[use.state] }
    ])
  ]
}
