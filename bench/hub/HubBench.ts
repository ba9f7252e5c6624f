/** `npm run bench -- hub`: what is promised of a Hub's speed and size, beside the floor. */
import { type GroupOptions, runGroups } from "../Groups.ts"
import type { Report } from "../Report.ts"
import type { HubPairOptions } from "./HubPair.ts"
import { measureHubIngest } from "./Ingest.ts"
import { measureLists } from "./Lists.ts"
import { measureSearch } from "./Search.ts"
import { measureSignedIn } from "./SignedIn.ts"
import { measureSockets } from "./Sockets.ts"

export interface HubBenchOptions extends GroupOptions, HubPairOptions {
  readonly rounds: number
}

/** By the names that `--only` takes. */
const groups = {
  lists: measureLists,
  search: measureSearch,
  signedIn: measureSignedIn,
  sockets: measureSockets,
  ingest: measureHubIngest
}

export const hubBench = (options: HubBenchOptions, report: Report): Promise<void> =>
  runGroups(groups, options, report)
