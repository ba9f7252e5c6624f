/** Page of a task, for users of the API. Leads to the session of the task, or to its run as soon as there is one. */
import type { TaskId } from "@corral/domain/identity/Ids"
import { isTaskOver } from "@corral/domain/task/Task"
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { Navigate } from "@tanstack/react-router"
import { hubApi } from "../api/Hub.ts"
import { useTargetName } from "../api/ProjectsAndTargets.ts"
import { useMessages } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/ConfirmDialog.tsx"
import { useErrorSentence } from "../ui/errorSentence.ts"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { StateBadge } from "../ui/StateBadge.tsx"
import { Time } from "../ui/Time.tsx"
import { uiMessages } from "../ui/messages.ts"
import { taskMessages } from "./messages.ts"

export const TaskPage = ({ taskId }: { readonly taskId: string }) => {
  const messages = useMessages(taskMessages)
  const { modes } = useMessages(uiMessages)
  const textOf = useErrorSentence()
  const client = useQueryClient()
  const id = taskId as TaskId
  const { data: task, error } = useQuery({
    queryKey: ["tasks", "one", id],
    queryFn: ({ signal }) => hubApi.tasks.get({ params: { id }, signal })
  })
  const target = useTargetName(task?.targetId)
  if (task?.sessionId !== undefined)
    return <Navigate to="/sessions/$sessionId" params={{ sessionId: task.sessionId }} replace />
  if (task?.runId !== undefined) return <Navigate to="/runs/$runId" params={{ runId: task.runId }} replace />
  if (task === undefined)
    return (
      <PageFrame title={messages.title}>
        <RefusalNote error={error} />
      </PageFrame>
    )
  const isOver = isTaskOver(task.state)
  const cancel = async (): Promise<void> => {
    await hubApi.tasks.cancel({ params: { id } })
    await client.invalidateQueries({ queryKey: ["tasks"] })
  }
  return (
    <PageFrame
      title={messages.title}
      actions={
        !isOver && (
          <ConfirmDialog
            trigger={messages.cancel}
            triggerClass="button"
            title={messages.cancelTitle}
            confirm={messages.cancel}
            onConfirm={cancel}
          >
            {messages.cancelText}
          </ConfirmDialog>
        )
      }
    >
      <p role="status">
        <StateBadge state={task.state} />{" "}
        {isOver ? messages.over : task.state === "queued" ? messages.queued : messages.waits}
      </p>
      {task.error !== undefined && <p className="refusal">{textOf(task.error)}</p>}
      <dl className="facts">
        <dt>{messages.device}</dt>
        <dd>{target ?? task.targetId}</dd>
        <dt>{messages.workspace}</dt>
        <dd>{task.workspace}</dd>
        <dt>{messages.agent}</dt>
        <dd>{task.agentId}</dd>
        <dt>{messages.mode}</dt>
        <dd>{modes[task.mode]}</dd>
        {task.expiresAt !== undefined && (
          <>
            <dt>{messages.until}</dt>
            <dd>
              <Time at={task.expiresAt} />
            </dd>
          </>
        )}
        <dt>{messages.text}</dt>
        <dd className="said">{task.input.text}</dd>
      </dl>
    </PageFrame>
  )
}
