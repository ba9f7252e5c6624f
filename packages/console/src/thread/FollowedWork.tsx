/** Work of a run from its events: live while it is in progress, with a line that says what it does now, and whole once it has ended. */
import type { Device } from "@corral/domain/device/Device"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { RunBlock } from "@corral/domain/run/RunBlock"
import type { RunView } from "@corral/domain/run/RunView"
import { useQueryClient } from "@tanstack/react-query"
import { type ReactNode, useEffect } from "react"
import { useDevice, useTargetName } from "../api/ProjectsAndTargets.ts"
import { visibleLine } from "../markdown/visible.ts"
import { type RunFollower, useFollowedRun, useRunView } from "../run/RunFollower.ts"
import { runMessages } from "../run/messages.ts"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { RunUsage } from "../usage/RunUsage.tsx"
import { kindOf, targetOf } from "./ActionKind.ts"
import { BackgroundNote, BackgroundPanel, outstandingWork } from "./BackgroundWork.tsx"
import type { RunPlace } from "./RunPlace.ts"
import { currentStep } from "./StepList.tsx"
import { WorkList } from "./WorkList.tsx"
import { partOf } from "./WorkPart.ts"
import { threadMessages } from "./messages.ts"
import { lastSeenText } from "./DeviceBanner.tsx"
import "./work.css"
import "../run/run.css"

interface LiveLineProps {
  readonly state: RunView["state"]
  readonly isPaused: boolean
  readonly blocks: ReadonlyArray<RunBlock>
  /** Name of the device. */
  readonly device: string
  /** Whether the device can't be heard: the last known work is not current. */
  readonly isOffline: boolean
}

/** Blocks at the end among which the call in progress is looked for. */
const LOOK_BACK = 20

const waitsForPerson = (state: RunView["state"]): boolean =>
  state === "waiting_approval" || state === "waiting_input"

/** "2 of 5: Write the tests", of the agent's own list. */
const StepNote = ({ blocks }: Pick<LiveLineProps, "blocks">) => {
  const messages = useMessages(threadMessages)
  const list = blocks.findLast((block) => block.kind === "steps" && block.parentCallId === undefined)
  const steps = list?.kind === "steps" ? list.steps : []
  const current = steps[currentStep(steps)]
  if (current === undefined) return null
  return (
    <span className="live-step">
      {messages.stepOf(currentStep(steps) + 1, steps.length, visibleLine(current.text, 80))}
    </span>
  )
}

/** What a run does now, on one line: "Running npm test…". What waits for a person is said by its own card, and how long by the header. */
const LiveLine = ({ blocks, device, isOffline, isPaused, state }: LiveLineProps) => {
  const messages = useMessages(threadMessages)
  if (waitsForPerson(state)) return null
  const last = blocks.at(-1)
  const call = blocks
    .slice(-LOOK_BACK)
    .findLast((block) => block.kind === "tool" && block.status === "started")
  const part = call === undefined ? undefined : partOf(call)
  const text =
    state === undefined || state === "queued"
      ? messages.waitsForDevice(device)
      : state === "created" || state === "starting"
        ? messages.starting
        : part?.kind === "action"
          ? `${messages.verbs[kindOf(part)].doing} ${visibleLine(targetOf(part), 80)}…`.trimStart()
          : last?.kind === "message" && last.partial
            ? last.channel === "reasoning"
              ? messages.thinking
              : messages.writing
            : messages.working
  if (isOffline)
    return (
      <p className="live live-offline">
        <span aria-hidden="true">⊘</span> <span className="live-text">{messages.lastHeard(text)}</span>
      </p>
    )
  if (isPaused)
    return (
      <p className="live live-paused">
        <span aria-hidden="true">▮▮</span> <span className="live-text">{messages.paused}</span>
      </p>
    )
  return (
    <p className="live">
      <span className="live-mark" aria-hidden="true">
        ●
      </span>{" "}
      <span className="live-text">{text}</span>
      <StepNote blocks={blocks} />
    </p>
  )
}

export const isEnded = (state: HubRun["state"] | undefined): boolean =>
  state === "completed" || state === "failed" || state === "cancelled"

interface FollowedWorkProps {
  readonly place: RunPlace
  /** The run, which has the budget. Undefined until it is loaded. */
  readonly run: HubRun | undefined
  /** Text of the answer below the work. */
  readonly answer?: string | undefined
  /** What follows the whole work of an ended run. */
  readonly after?: ReactNode
}

const Rows = ({
  after,
  answer,
  follower,
  place,
  run
}: FollowedWorkProps & { readonly follower: RunFollower }) => {
  const messages = useMessages(runMessages)
  const {
    version,
    view: { blocks, dropped, isIdle, isPaused, state, unknown, usage }
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
        <>
          <RunningLine {...{ blocks, device, isIdle, isOffline, isPaused, place, state }} />
          <p className="live-usage">
            <RunUsage usage={usage ?? run?.usage} budget={run?.budget} />
          </p>
        </>
      )}
      {isOver && after}
    </>
  )
}

type LineProps = Parameters<typeof LiveLine>[0] &
  Pick<FollowedWorkProps, "place"> & { readonly isIdle: boolean }

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

export const FollowedWork = ({ after, answer, place, run }: FollowedWorkProps) => {
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
      <Rows {...{ after, answer, follower, place, run }} />
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
