/** Steps of an agent, from its `plan` updates. Each update has the whole list. */
import type * as Acp from "@agentclientprotocol/sdk"
import type { Step } from "@corral/domain/run/Steps"
import { stepsOfList } from "../output/StepLists.ts"
import type { UnverifiedFields } from "./UnverifiedFields.ts"

/** Steps in the order of the list. */
export const stepsOf = ({ entries }: UnverifiedFields<Acp.Plan>): ReadonlyArray<Step> =>
  stepsOfList(entries, "content")
