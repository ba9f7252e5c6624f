/** Work of a run from its events: live while it is in progress, and whole once it has ended. */
import type { Device } from "@corral/domain/device/Device"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useQueryClient } from "@tanstack/react-query"
import { type ReactNode, useEffect } from "react"
import { useTargetName } from "../api/ProjectsAndTargets.ts"
import { visibleLine } from "../markdown/visible.ts"
import type { RunFollower } from "../run/RunFollower.ts"
import { useFollowedRun, useRunView } from "../run/useRunView.ts"
import { runMessages } from "../run/messages.ts"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { useDevice } from "../api/Device.ts"
import { BackgroundNote, BackgroundPanel, outstandingWork } from "./BackgroundPanel.tsx"
import { LiveLine } from "./LiveLine.tsx"
import { threadMessages } from "./messages.ts"
import { lastSeenText } from "./offlineText.ts"
import type { RunPlace } from "./RunPlace.ts"
import { WorkList } from "./WorkList.tsx"
import "../run/run.css"
import "./work.css"

export const isEnded = (state: HubRun["state"] | undefined): boolean =>
  state === "completed" || state === "failed" || state === "cancelled"

interface Props {
  readonly place: RunPlace
  /** Text of the answer below the work. */
  readonly answer?: string | undefined
  /** What follows the whole work of an ended run. */
  readonly after?: ReactNode
}

const Rows = ({ after, answer, follower, place }: Props & { readonly follower: RunFollower }) => {
  const messages = useMessages(runMessages)
  const {
    version,
    view: { blocks, dropped, isIdle, isPaused, state, unknown }
  } = useRunView(follower)
  const device = visibleLine(useTargetName(place.targetId) ?? "", 60)
  const isOver = isEnded(state)
  const target = useDevice(isOver ? undefined : place.targetId)
  const isOffline = target?.state === "offline"
  const silence = useSilence(isOffline ? target : undefined)
  return (
    <>
      {dropped > 0 && <p className="quiet">{messages.dropped(dropped)}</p>}
      {unknown > 0 && <p className="quiet">{messages.unknown(unknown)}</p>}
      <WorkList {...{ answer, blocks, isOver, place, silence, version }} />
      {!isOver && answer === undefined && (
        <RunningLine {...{ blocks, device, isIdle, isOffline, isPaused, place, state }} />
      )}
      {isOver && after}
    </>
  )
}

type LineProps = Parameters<typeof LiveLine>[0] & Pick<Props, "place"> & { readonly isIdle: boolean }

/** What the run does now: its turn, or the work that continues after it. */
const RunningLine = ({ isIdle, place, ...line }: LineProps) => {
  const work = outstandingWork(line.blocks)
  const { isOffline, isPaused, state } = line
  if (isIdle && state === "running" && work.length > 0 && !isOffline && !isPaused)
    return <BackgroundPanel place={place} work={work} />
  return (
    <>
      <LiveLine {...line} />
      <BackgroundNote work={work} />
    </>
  )
}

/** Text for a call whose end can't be heard. Undefined while the device is heard. */
const useSilence = (device: Device | undefined): string | undefined => {
  const messages = useMessages(threadMessages)
  const { language } = useLanguage()
  if (device === undefined) return undefined
  const time = lastSeenText(device, language)
  return time === undefined ? messages.silent : messages.silentSince(time)
}

export const FollowedWork = ({ after, answer, place }: Props) => {
  const messages = useMessages(runMessages)
  const client = useQueryClient()
  const [{ connection, isIdle, pending, refusal, state }, follower] = useFollowedRun(place.runId)
  // The events are newer than data that was read before.
  useEffect(() => {
    if (state === undefined || answer !== undefined) return
    void client.invalidateQueries({ queryKey: ["runs"] })
    void client.invalidateQueries({ queryKey: ["approvals"] })
    void client.invalidateQueries({ queryKey: ["inputs"] })
    void client.invalidateQueries({ queryKey: ["sessions"] })
  }, [client, answer, isIdle, state, pending])
  const isReading = state === undefined && (connection === "connecting" || connection === "live")
  return (
    <div className="followed" aria-busy={isReading}>
      <Rows {...{ after, answer, follower, place }} />
      {connection === "waiting" && (
        <p className="connection" role="status">
          {messages.connection.waiting}{" "}
          <button type="button" className="clipped-more" onClick={follower.retryNow}>
            {messages.retry}
          </button>
        </p>
      )}
      <RefusalNote error={refusal} />
    </div>
  )
}
