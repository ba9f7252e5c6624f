/** Work of a run as rows, each change of the run at once. The prompt and the text that the answer repeats are not shown again. */
import type { RunBlock } from "@corral/domain/run/RunBlock"
import { useEffect, useMemo } from "react"
import { useMessages } from "../text/Language.tsx"
import { ActionCard } from "./ActionCard.tsx"
import { BlockRow } from "./BlockRow.tsx"
import { ExploredGroup } from "./ExploredGroup.tsx"
import { useFollowState } from "./FollowContext.ts"
import type { RunPlace } from "./RunPlace.ts"
import { threadMessages } from "./messages.ts"
import { useVisibleSteps } from "./useVisibleSteps.ts"
import { WorkFold } from "./WorkFold.ts"
import type { WorkPart } from "./WorkPart.ts"
import { rowsOfWork, type WorkRow } from "./WorkRow.ts"
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

const keyOf = (row: WorkRow): string => `${row.kind} ${row.seq}`

const Row = ({
  isOver,
  place,
  row,
  silence
}: { readonly row: WorkRow } & Pick<Props, "isOver" | "place" | "silence">) =>
  row.kind === "explored" ? (
    <ExploredGroup actions={row.actions} place={place} silence={silence} />
  ) : row.kind === "action" ? (
    <ActionCard part={row} place={place} silence={silence} />
  ) : (
    <BlockRow block={row.block} place={place} isOver={isOver} />
  )

export const WorkList = ({ answer, blocks, isOver, place, silence, version }: Props) => {
  const messages = useMessages(threadMessages)
  const { end, isFollowing } = useFollowState()
  const fold = useMemo(() => new WorkFold(), [])
  const parts = fold.update(blocks)
  const { from, showEarlier, showLater, to } = useVisibleSteps(parts.length, isFollowing)
  const isLive = !isOver && answer === undefined
  useEffect(() => {
    if (isLive) end.noteNew()
  }, [end, isLive, version])
  const hidden = isOver ? answerPlace(parts, answer) : -1
  const shown = parts.slice(from, to).filter((part, at) => from + at !== hidden && !isPrompt(part))
  return (
    <div className="work">
      {from > 0 && (
        <button
          type="button"
          className="button small"
          onClick={({ currentTarget: { nextElementSibling: first } }) => {
            end.leave()
            if (first !== null) end.holdInPlace(first)
            showEarlier()
          }}
        >
          {messages.earlierSteps(from)}
        </button>
      )}
      {rowsOfWork(shown).map((row) => (
        <div key={keyOf(row)} className="work-row">
          <Row row={row} place={place} isOver={isOver} silence={silence} />
        </div>
      ))}
      {to < parts.length && (
        <button type="button" className="button small" onClick={showLater}>
          {messages.laterSteps(parts.length - to)}
        </button>
      )}
    </div>
  )
}
