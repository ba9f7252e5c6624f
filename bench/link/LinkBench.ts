/** `npm run bench -- link`: what it costs to reach an Edge through a Hub, beside two bare programs that are linked the same way. */
import { runGroups } from "../Groups.ts"
import type { Report } from "../Report.ts"
import { measureDevices } from "./Devices.ts"
import { measureEditors } from "./Editors.ts"
import { measureHubs } from "./Hubs.ts"
import { measureLinkIngest } from "./Ingest.ts"
import type { LinkBenchOptions } from "./LinkPair.ts"
import { measureTrickle } from "./Trickle.ts"
import { measureTrip } from "./Trip.ts"

/** By the names that `--only` takes. */
const groups = {
  ingest: measureLinkIngest,
  trickle: measureTrickle,
  hubs: measureHubs,
  trip: measureTrip,
  editors: measureEditors,
  devices: measureDevices
}

export const linkBench = (options: LinkBenchOptions, report: Report): Promise<void> =>
  runGroups(groups, options, report)
