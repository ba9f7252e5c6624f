/** Page of a run: its details, live timeline, pending approvals, changes and artifacts. */
import { Tabs } from "@base-ui/react/tabs"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useCallback, useEffect, useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { useCanWork } from "../api/ProjectsAndTargets.ts"
import { RunDiff } from "../diff/RunDiff.tsx"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Loading } from "../ui/Loading.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { CancelRun } from "./CancelRun.tsx"
import { RawLog } from "./RawLog.tsx"
import { RunArtifacts } from "./RunArtifacts.tsx"
import { RunHead } from "./RunHead.tsx"
import { RunMessageForm } from "./RunMessageForm.tsx"
import { Timeline } from "./Timeline.tsx"
import type { Connection } from "./RunFollower.ts"
import { useFollowedRun } from "./useRunView.ts"
import { runMessages } from "./messages.ts"
import "./run.css"
import "../markdown/markdown.css"

const ConnectionLine = ({
  connection,
  onRetry
}: {
  readonly connection: Connection
  readonly onRetry: () => void
}) => {
  const messages = useMessages(runMessages)
  return (
    <p className={`connection connection-${connection}`} role="status">
      {messages.connection[connection]}
      {connection === "waiting" && (
        <button type="button" className="clipped-more" onClick={onRetry}>
          {messages.retry}
        </button>
      )}
    </p>
  )
}

export const RunPage = ({ runId }: { readonly runId: string }) => {
  // The id comes from the URL. The Hub validates it.
  const id = runId as HubRun["id"]
  const messages = useMessages(runMessages)
  const client = useQueryClient()
  const [tab, setTab] = useState("timeline")
  const [{ connection, refusal, state, unknown, pending }, follower] = useFollowedRun(id)
  const run = useQuery({
    queryKey: ["runs", id],
    queryFn: ({ signal }) => hubApi.runs.get({ params: { id }, signal })
  })
  const current = state ?? run.data?.state
  const isOver = current === "completed" || current === "failed" || current === "cancelled"
  // The events are newer than data that was read before.
  useEffect(() => {
    if (state === undefined) return
    void client.invalidateQueries({ queryKey: ["runs", id] })
    void client.invalidateQueries({ queryKey: ["approvals"] })
  }, [client, id, state, pending])
  const mayWork = useCanWork(run.data?.projectId)
  const onDiff = useCallback(() => setTab("diff"), [])

  const above = <Link to="/runs">{messages.runs}</Link>
  if (run.data === undefined)
    return (
      <PageFrame title={messages.run} above={above}>
        {run.isLoading && <Loading />}
        <RefusalNote error={run.error} again={() => void run.refetch()} />
      </PageFrame>
    )
  const title = visibleLine(run.data.input.text, 90)
  return (
    <PageFrame
      title={title}
      above={above}
      actions={mayWork && current !== undefined && !isOver && <CancelRun id={id} />}
    >
      <RunHead run={run.data} state={current ?? run.data.state} />
      <p className="hidden" role="status">
        {current === "waiting_approval"
          ? messages.announced.waiting_approval
          : current === "completed" || current === "failed" || current === "cancelled"
            ? messages.endings[current]
            : ""}
      </p>
      <ConnectionLine connection={connection} onRetry={follower.retryNow} />
      <RefusalNote error={refusal} />
      <Tabs.Root value={tab} onValueChange={(value) => setTab(String(value))}>
        <Tabs.List className="tabs">
          {(["timeline", "diff", "artifacts", "raw"] as const).map((name) => (
            <Tabs.Tab key={name} value={name} className="tab">
              {messages[name]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="timeline">
          <Timeline
            follower={follower}
            runId={id}
            projectId={run.data.projectId}
            targetId={run.data.targetId}
            onDiff={onDiff}
          />
          {mayWork && !isOver && <RunMessageForm id={id} />}
        </Tabs.Panel>
        <Tabs.Panel value="diff">
          <RunDiff runId={id} />
        </Tabs.Panel>
        <Tabs.Panel value="artifacts">
          <RunArtifacts runId={id} />
        </Tabs.Panel>
        <Tabs.Panel value="raw">
          <RawLog runId={id} unknown={unknown} />
        </Tabs.Panel>
      </Tabs.Root>
    </PageFrame>
  )
}
