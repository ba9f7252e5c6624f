/** Mutation that creates the task of a new run and opens its page. */
import type { ProjectId, SessionId } from "@corral/domain/identity/Ids"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { hubApi } from "../api/Hub.ts"
import { useIdempotencyKey } from "../api/IdempotencyKey.ts"
import { useMessages } from "../text/Language.tsx"
import { optionalField, textIn } from "../ui/Field.tsx"
import type { StartChoice } from "./useStartChoice.ts"
import { startMessages } from "./messages.ts"

const sessionIn = (form: FormData) => {
  const { sessionId } = optionalField(form, "sessionId")
  // The options of this field are session ids of the Hub.
  return sessionId === undefined ? {} : { sessionId: sessionId as SessionId }
}

export const useStartRun = (projectId: ProjectId, choice: StartChoice) => {
  const messages = useMessages(startMessages)
  const navigate = useNavigate()
  const client = useQueryClient()
  const keyOf = useIdempotencyKey()
  return useMutation({
    mutationFn: (form: FormData) => {
      const { agent, mode, target, workspace } = choice
      if (target === undefined || workspace === undefined || agent === undefined || mode === undefined)
        throw new Error(messages.noDevices)
      const payload = {
        projectId,
        targetId: target.id,
        workspace: workspace.id,
        agentId: agent.id,
        mode,
        input: { text: textIn(form, "text") },
        ...optionalField(form, "model"),
        ...sessionIn(form),
        ...(form.has("worktree") ? { isolation: "worktree" as const } : {}),
        ...(form.has("queue") ? { onOffline: "queue" as const } : {})
      }
      return hubApi.tasks.create({ headers: keyOf(payload), payload })
    },
    onSuccess: async ({ id }) => {
      await client.invalidateQueries({ queryKey: ["runs"] })
      await navigate({ to: "/tasks/$taskId", params: { taskId: id } })
    }
  })
}
