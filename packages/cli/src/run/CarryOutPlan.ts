/**
 * Next run after an approved plan at an Edge alone: it continues the conversation in the chosen mode, with a message that says so.
 *
 * Guarantees: one plan starts one run, from whichever terminal. The key of the start is the id of the plan.
 *
 * Does not: start anything at a Hub, which sends the message itself.
 */
import { endsWithPlan } from "@corral/domain/approval/RunMode"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { RunId } from "@corral/domain/identity/Ids"
import { type InputRequest, planMessage } from "@corral/domain/input/InputRequest"
import { cannotContinue } from "@corral/domain/run/Continuation"
import { limitsOfTurn } from "@corral/domain/run/Budget"
import type { Run } from "@corral/domain/run/Run"
import { Effect, Schedule } from "effect"
import type { CommandFailed } from "../CommandFailed.ts"
import { type RunServer, type StartRun, hasEnded } from "./RunServer.ts"

const LOOK_EVERY = "100 millis"

const startOf = (run: Run | HubRun, plan: InputRequest): StartRun => ({
  agentId: run.agentId,
  workspace: run.workspace,
  mode: plan.mode ?? "ask",
  // A runtime that can't continue the conversation receives the plan as a text.
  input: { text: planMessage(plan.comment, plan.plan) },
  queue: false,
  key: `${plan.id}-text`,
  ...(run.model === undefined ? {} : { model: run.model }),
  // The work has the limits of the run that made the plan.
  ...limitsOfTurn({}, run),
  ...(run.backgroundMs === undefined ? {} : { backgroundMs: run.backgroundMs }),
  ...(run.inputTtlMs === undefined ? {} : { inputTtlMs: run.inputTtlMs }),
  ...(run.sessionId === undefined ? {} : { sessionId: run.sessionId })
})

/** The run that carries the plan out. `undefined` if the answer starts none. */
export const carryOutPlan = Effect.fn("CarryOutPlan.carryOut")(function* (
  server: RunServer,
  answered: InputRequest
): Effect.fn.Return<RunId | undefined, CommandFailed> {
  if (server.carriesOutPlans || answered.approved !== true) return undefined
  const planned = yield* server.run(answered.runId)
  if (!endsWithPlan(planned.mode)) return undefined
  yield* server
    .run(answered.runId)
    .pipe(Effect.repeat({ until: ({ state }) => hasEnded(state), schedule: Schedule.spaced(LOOK_EVERY) }))
  const start = startOf(planned, answered)
  const input = { text: planMessage(answered.comment) }
  return yield* server.start({ ...start, input, key: answered.id, resume: planned.id }).pipe(
    Effect.catchIf(
      ({ code, details }) => code !== undefined && cannotContinue({ code, details }),
      () => server.start(start)
    )
  )
})
