/** A run of a session, whose task belongs to an agent, during a push. */
import type { RunId, SessionId, TaskId } from "@corral/domain/identity/Ids"
import type { PushedRun } from "./PushedRun.ts"

export interface TalkingRun {
  readonly run: PushedRun
  readonly id: RunId
  readonly sessionId: SessionId
  readonly taskId: TaskId
}
