/** Work of a run as it happens. The prompt and the text that the answer repeats are not shown again. */
import type { RunBlock } from "@corral/domain/run/RunBlock"
import { useEffect, useMemo } from "react"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { useFollowState } from "./FollowContext.ts"
import { nestedWork } from "./nestedWork.ts"
import { canEnlarge } from "./ImageViewer.tsx"
import type { RunPlace } from "./RunPlace.ts"
import { threadMessages } from "./messages.ts"
import { useVisibleSteps } from "./useVisibleSteps.ts"
import { WorkFold } from "./WorkFold.ts"
import type { WorkPart } from "./WorkPart.ts"
import { ChunkedRows } from "./PartRows.tsx"
import "./work.css"

interface Props {
  readonly blocks: ReadonlyArray<RunBlock>
  /** Number of the view's version: it changes with each change of the blocks. */
  readonly version: number
  readonly place: RunPlace
  readonly isOver: boolean
  /** Text for calls whose end can't be heard, because the device is offline. */
  readonly silence: string | undefined
  /** Text of the answer below the work. */
  readonly answer: string | undefined
}

const isPrompt = (part: WorkPart | undefined): boolean =>
  part?.kind === "block" &&
  part.block.kind === "message" &&
  part.block.role === "user" &&
  part.block.messageId === ""

/** Place of the text that the answer repeats. */
const answerPlace = (parts: ReadonlyArray<WorkPart>, answer: string | undefined): number => {
  if (answer === undefined) return -1
  return parts.findLastIndex(
    (part) =>
      part.kind === "block" &&
      part.block.kind === "message" &&
      part.block.role === "assistant" &&
      part.block.channel === "text" &&
      part.block.body.text.trim() === answer.trim()
  )
}

/** Notes all artifacts of the run, and its images with the step that made them. Returns the artifacts that the result of a tool shows. */
const artifactsInResults = (
  blocks: ReadonlyArray<RunBlock>,
  { artifacts, images }: RunPlace
): ReadonlySet<string> => {
  const shown = new Set<string>()
  let steps = 0
  for (const block of blocks) {
    if (block.kind === "artifact") artifacts.set(block.artifactId, block)
    if (block.kind === "tool") steps++
  }
  let nth = 0
  for (const block of blocks) {
    if (block.kind !== "tool") continue
    nth++
    for (const part of block.content ?? []) {
      const { artifactId } = part
      if (artifactId === undefined) continue
      shown.add(artifactId)
      const artifact = artifacts.get(artifactId)
      const mediaType = part.mediaType ?? artifact?.mediaType ?? ""
      if (!canEnlarge(mediaType, artifact?.size)) continue
      const name = visibleLine(part.name ?? artifact?.name ?? "", 120)
      const step = visibleLine(block.label, 120)
      images.set(artifactId, { artifactId, name, mediaType, step, nth, steps, at: block.endedAt ?? block.at })
    }
  }
  return shown
}

const isInResult = (part: WorkPart, shown: ReadonlySet<string>): boolean =>
  part.kind === "block" && part.block.kind === "artifact" && shown.has(part.block.artifactId)

export const WorkList = ({ answer, blocks, isOver, place, silence, version }: Props) => {
  const messages = useMessages(threadMessages)
  const { end, isFollowing } = useFollowState()
  const fold = useMemo(() => new WorkFold(), [])
  const { children, roots: parts } = nestedWork(fold.update(blocks))
  const { from, showEarlier, showLater, to } = useVisibleSteps(parts.length, isFollowing)
  const isLive = !isOver && answer === undefined
  useEffect(() => {
    if (isLive) end.noteNew()
  }, [end, isLive, version])
  const hidden = isOver ? answerPlace(parts, answer) : -1
  const inResults = artifactsInResults(blocks, place)
  const shown = parts
    .slice(from, to)
    .filter((part, at) => from + at !== hidden && !isPrompt(part) && !isInResult(part, inResults))
  return (
    <div className="work">
      {from > 0 && (
        <button
          type="button"
          className="button small"
          onClick={({ currentTarget: { nextElementSibling: chunk } }) => {
            end.leave()
            const first = chunk?.querySelector(".work-row")
            if (first != null) end.holdInPlace(first)
            showEarlier()
          }}
        >
          {messages.earlierSteps(from)}
        </button>
      )}
      <ChunkedRows
        parts={shown}
        context={{ children, isOver, place, silence }}
        isEnded={answer !== undefined}
      />
      {to < parts.length && (
        <button type="button" className="button small" onClick={showLater}>
          {messages.laterSteps(parts.length - to)}
        </button>
      )}
    </div>
  )
}
