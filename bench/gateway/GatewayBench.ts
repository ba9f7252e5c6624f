/** `npm run bench -- gateway`: how soon a platform is told that its event is kept, beside a bare program that keeps it too. */
import { runGroups } from "../Groups.ts"
import type { Report } from "../Report.ts"
import { burst, steady } from "./Acknowledgement.ts"
import type { GatewayBenchOptions } from "./GatewayPair.ts"

const groups = { steady, burst }

export const gatewayBench = (options: GatewayBenchOptions, report: Report): Promise<void> =>
  runGroups(groups, options, report)
