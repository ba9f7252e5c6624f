/** Page of a task, for users of the API, and its texts. Leads to the session of the task, or to its run as soon as there is one. */
import type { TaskId } from "@corral/domain/identity/Ids"
import { isTaskOver } from "@corral/domain/task/Task"
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { Navigate } from "@tanstack/react-router"
import { hubApi } from "../api/Hub.ts"
import { useTargetName } from "../api/ProjectsAndTargets.ts"
import { bilingual, useMessages } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/Dialogs.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { StateBadge } from "../ui/StateBadge.tsx"
import { Time } from "../ui/Time.tsx"
import { useErrorSentence } from "../ui/errorSentence.ts"
import { uiMessages } from "../ui/messages.ts"

/** UI text of a task that has no run yet. */
const taskMessages = bilingual(
  {
    title: "Task",
    waits: "The task is being dispatched. This page shows the run when it starts.",
    queued: "The device is offline. The run starts when the device is online.",
    device: "Device",
    workspace: "Workspace",
    agent: "Agent",
    mode: "Mode",
    text: "Prompt",
    until: "Expires",
    cancel: "Cancel task",
    cancelTitle: "Cancel this task?",
    cancelText: "The run will not start.",
    over: "The task ended without a run."
  },
  {
    title: "任务",
    waits: "正在派发任务。运行启动后，此页面将显示该运行。",
    queued: "设备离线。设备上线后将启动运行。",
    device: "设备",
    workspace: "工作区",
    agent: "智能体",
    mode: "模式",
    text: "提示词",
    until: "过期时间",
    cancel: "取消任务",
    cancelTitle: "要取消此任务吗？",
    cancelText: "运行将不会启动。",
    over: "任务已结束，没有启动运行。"
  }
)

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
