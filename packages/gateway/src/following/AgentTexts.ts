/** Texts of agents in chats: where the project's policy allows them. */
import type { ChatAnswers } from "@corral/domain/project/Project"
import { Effect } from "effect"
import { Hub } from "../hub/Hub.ts"
import type { Follow } from "./FollowRow.ts"

const allows = (answers: ChatAnswers, direct: boolean): boolean =>
  answers === "all" || (answers === "direct" && direct)

/** Whether the chat of the follow shows what the agent writes. The account must be able to read the run. */
export const allowsAgentText = Effect.fn("AgentTexts.allows")(function* ({ account, direct, runId }: Follow) {
  if (runId === undefined) return false
  const hub = yield* Hub
  const { projectId } = yield* hub.as(account, ({ runs }) => runs.get({ params: { id: runId } }))
  const project = yield* hub.as(account, ({ projects }) => projects.get({ params: { id: projectId } }))
  return allows(project.chats.answers, direct)
})
