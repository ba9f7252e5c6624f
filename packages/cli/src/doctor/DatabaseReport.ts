/** Text of `corral hub doctor`: a heading per part of the database, and one line per finding with a mark before it and a hint after it. */
import type { DatabaseFinding } from "@corral/hub/inspection/DatabaseFinding"
import type { InspectedPart } from "@corral/hub/inspection/Inspection"
import type { Paint } from "../terminal/Paint.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

const headings: Readonly<Record<InspectedPart["part"], string>> = {
  server: "Server",
  schema: "Schema",
  replication: "Replication",
  statements: "Statements",
  tables: "Tables"
}

const markOf = (paint: Paint, state: DatabaseFinding["state"]): string =>
  state === "good" ? paint("green", "✓") : state === "problem" ? paint("red", "✗") : paint("yellow", "–")

const lineOf = (paint: Paint, { hint, message, state }: DatabaseFinding): string =>
  `  ${markOf(paint, state)} ${escapeLine(message)}${hint === undefined ? "" : ` ${paint("dim", escapeLine(hint))}`}`

/** The last line ends with a newline. */
export const formatInspection = (parts: ReadonlyArray<InspectedPart>, paint: Paint): string =>
  parts
    .filter(({ findings }) => findings.length > 0)
    .map(
      ({ findings, part }) =>
        `${headings[part]}\n${findings.map((finding) => `${lineOf(paint, finding)}\n`).join("")}`
    )
    .join("")
