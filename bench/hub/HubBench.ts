/** `npm run bench -- hub`: what is promised of a Hub's speed and size, beside the floor. */
import type { Report } from "../Report.ts"
import type { HubPairOptions } from "./HubPair.ts"
import { ingest } from "./Ingest.ts"
import { lists } from "./Lists.ts"
import { signedIn } from "./SignedIn.ts"
import { sockets } from "./Sockets.ts"

export interface HubBenchOptions extends HubPairOptions {
  readonly rounds: number
  /** Names of groups; all where there are none. */
  readonly only: ReadonlyArray<string>
}

const groups = { lists, signedIn, sockets, ingest }

export const hubBench = async (options: HubBenchOptions, report: Report): Promise<void> => {
  const unknown = options.only.filter((name) => !Object.hasOwn(groups, name))
  if (unknown.length > 0)
    throw new Error(`unknown: ${unknown.join(", ")}; there are ${Object.keys(groups).join(", ")}`)
  for (const [name, group] of Object.entries(groups)) {
    if (options.only.length > 0 && !options.only.includes(name)) continue
    process.stderr.write(`– ${name}\n`)
    await group(options, report)
  }
}
