/** The groups of figures that a benchmark has, run one after the other or those alone that were named. */
import type { Report } from "./Report.ts"

export interface GroupOptions {
  /** Names of groups; all where there are none. */
  readonly only: ReadonlyArray<string>
}

export const runGroups = async <O extends GroupOptions>(
  groups: Readonly<Record<string, (options: O, report: Report) => Promise<void>>>,
  options: O,
  report: Report
): Promise<void> => {
  const unknown = options.only.filter((name) => !Object.hasOwn(groups, name))
  if (unknown.length > 0)
    throw new Error(`unknown: ${unknown.join(", ")}; there are ${Object.keys(groups).join(", ")}`)
  for (const [name, group] of Object.entries(groups)) {
    if (options.only.length > 0 && !options.only.includes(name)) continue
    process.stderr.write(`– ${name}\n`)
    await group(options, report)
  }
}
