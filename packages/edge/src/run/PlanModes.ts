/** Modes in which a plan of a run can be carried out: those that the Edge would admit for another run of the agent in the workspace. */
import { closesNetwork } from "@corral/domain/run/Confinement"
import type { Run, RunMode } from "@corral/domain/run/Run"
import { Effect } from "effect"
import { agentModes, isolationRefusal } from "../runtime/OfferedAgent.ts"
import { admitWithKeys, keyEntryOf } from "./KeyAdmission.ts"
import type { RunAdmission } from "./RunAdmission.ts"

/** Empty if the Edge no longer offers the agent or the workspace. */
export const planModes = (
  {
    config,
    confinement,
    runtimes,
    workspaces
  }: Pick<RunAdmission, "config" | "confinement" | "runtimes" | "workspaces">,
  { agentId, isolation, workspace: workspaceId }: Run
): Effect.Effect<ReadonlyArray<RunMode>> =>
  Effect.gen(function* () {
    const agent = yield* runtimes.get(agentId)
    const workspace = yield* workspaces.open(workspaceId)
    const keys = keyEntryOf(config, agent.adapter.id)
    const modes = agentModes(agent, closesNetwork(confinement.readiness.kind)).filter(
      (mode) => workspace.modes.includes(mode) && isolationRefusal(agent, mode, isolation) === undefined
    )
    return yield* Effect.filter(modes, (mode) =>
      Effect.isSuccess(
        Effect.flatMap(confinement.admit(mode), (admitted) => admitWithKeys(keys, agent, admitted))
      )
    )
  }).pipe(Effect.orElseSucceed(() => []))
