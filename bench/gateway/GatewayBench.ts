/** `npm run bench -- gateway`: time until an event is acknowledged, compared with a minimal program that stores it too. */
import { runGroups } from "../Groups.ts"
import type { Report } from "../Report.ts"
import { burst, steady } from "./Acknowledgement.ts"
import { measureEventCpu } from "./EventCpu.ts"
import type { GatewayBenchOptions } from "./GatewayPair.ts"

const groups = { cpu: measureEventCpu, steady, burst }

export const gatewayBench = (options: GatewayBenchOptions, report: Report): Promise<void> =>
  runGroups(groups, options, report)
