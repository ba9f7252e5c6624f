/** Title of a plan that a runtime hands over: its first heading near the beginning, or its first line. */
import { titleLine } from "../text/FirstLine.ts"

/** Lines before the heading that some programs add, such as the name of a file. */
const NEAR = 5
const HEADING = /^#{1,6} /

export const planTitleOf = (plan: string): string => {
  const lines = plan.trim().split("\n", NEAR)
  const title = lines.find((line) => HEADING.test(line)) ?? lines[0] ?? ""
  return titleLine(title.replace(HEADING, "")) || "Plan"
}
