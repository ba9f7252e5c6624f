/** Changes of protected names in a terminal, as one line. */
import type { ProtectedChanges } from "@corral/domain/run/ProtectedChange"
import { escapeLine } from "../terminal/VisibleText.ts"

/** What changed, and what to do next. */
export const protectedLine = ({ count, files, incomplete }: ProtectedChanges): string => {
  const unread = incomplete === true ? "Some protected names were not compared: too many files." : ""
  if (count === 0) return unread
  const listed = files
    .map(
      ({ change, discarded, path }) =>
        `${escapeLine(path)} (${change}${discarded === true ? ", discarded" : ""})`
    )
    .join(", ")
  const more = count > files.length ? ` and ${count - files.length} more` : ""
  const changed = `Changed without an approval that names it: ${listed}${more}. Other programs run or obey such files. Review them.`
  return unread === "" ? changed : `${changed} ${unread}`
}
