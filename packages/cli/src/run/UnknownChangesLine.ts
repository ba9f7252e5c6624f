/** Changes that are unknown, and files that were not compared, in a terminal. */
import { unknownChangesText } from "@corral/domain/changes/UnknownChanges"
import type { LeftOut } from "@corral/domain/run/Worktree"
import { escapeLine } from "../terminal/VisibleText.ts"

/** `reason` may be one of a later version. */
export const unknownChangesLine = (unknown: Parameters<typeof unknownChangesText>[0]): string =>
  `Changes unknown. ${escapeLine(unknownChangesText(unknown))} Look at the workspace yourself.`

/** Appended to the counts of a diff. */
export const leftOutText = (leftOut: LeftOut | undefined): string =>
  leftOut === undefined ? "" : `, ${leftOut.count} not compared`
