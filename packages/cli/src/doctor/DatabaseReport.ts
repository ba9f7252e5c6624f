/** Text of `corral hub doctor`: a heading per part of the database, and one line per finding with a mark before it and a hint after it. */
import type { DatabaseFinding } from "@corral/hub/inspection/DatabaseFinding"
import type { InspectedPart } from "@corral/hub/inspection/Inspection"
import type { Paint } from "../terminal/Paint.ts"
import { escapeLine } from "../terminal/VisibleText.ts"
import { type ReportStyle, styleOf } from "./ReportStyle.ts"

const headings: Readonly<Record<InspectedPart["part"], string>> = {
  server: "Server",
  schema: "Schema",
  replication: "Replication",
  statements: "Statements",
  tables: "Tables"
}

const lineOf = (style: ReportStyle, { hint, message, state }: DatabaseFinding): string => {
  const mark = state === "unknown" ? style.optional : style.mark(state === "good")
  return `  ${mark} ${escapeLine(message)}${style.hint(hint)}\n`
}

/** The last line ends with a newline. */
export const formatInspection = (parts: ReadonlyArray<InspectedPart>, paint: Paint): string => {
  const style = styleOf(paint)
  return parts
    .filter(({ findings }) => findings.length > 0)
    .map(
      ({ findings, part }) =>
        `${headings[part]}\n${findings.map((finding) => lineOf(style, finding)).join("")}`
    )
    .join("")
}
