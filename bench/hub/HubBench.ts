/** `npm run bench -- hub`: what is promised of a Hub's speed and size, beside the floor. */
import { type GroupOptions, runGroups } from "../Groups.ts"
import type { Report } from "../Report.ts"
import type { HubPairOptions } from "./HubPair.ts"
import { ingest } from "./Ingest.ts"
import { lists } from "./Lists.ts"
import { signedIn } from "./SignedIn.ts"
import { sockets } from "./Sockets.ts"

export interface HubBenchOptions extends GroupOptions, HubPairOptions {
  readonly rounds: number
}

const groups = { lists, signedIn, sockets, ingest }

export const hubBench = (options: HubBenchOptions, report: Report): Promise<void> =>
  runGroups(groups, options, report)
