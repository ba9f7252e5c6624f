/** Work of a run as it happens. The prompt and the text that the answer repeats are not shown again. */
import type { RunBlock } from "@corral/domain/run/RunBlock"
import { type ReactNode, memo, useEffect, useMemo, useReducer, useRef, useState } from "react"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { ActionCard } from "./ActionCard.tsx"
import { countsOf, kindOf, rowsOfWork, stateOf, targetOf, type WorkRow } from "./ActionKind.ts"
import { BlockRow } from "./BlockRow.tsx"
import { useFollowState } from "./EndFollower.ts"
import { canEnlarge } from "./ResultContent.tsx"
import type { RunPlace } from "./RunPlace.ts"
import { type ActionPart, nestedWork, type NestedWork, WorkFold, type WorkPart } from "./WorkPart.ts"
import { threadMessages } from "./messages.ts"
import "./work.css"

interface ChildWorkProps {
  readonly call: ActionPart
  readonly parts: ReadonlyArray<WorkPart>
  readonly isOver: boolean
  /** The rows of some parts. */
  readonly children: (parts: ReadonlyArray<WorkPart>) => ReactNode
}

/** Parts of one sub-agent that are in the page: the newest ones. */
const SHOWN = 200

/** Whether a part waits for a person. */
const waits = (part: WorkPart): boolean =>
  part.kind === "action"
    ? stateOf(part) === "waiting"
    : part.block.kind === "input" && part.block.state === "pending"

const lineOf = (part: WorkPart | undefined, verbs: (typeof threadMessages)["en"]["verbs"]): string => {
  if (part?.kind === "action") {
    const tense = stateOf(part) === "started" ? "doing" : "done"
    return `${verbs[kindOf(part)][tense]} ${targetOf(part)}`.trimStart()
  }
  return part?.block.kind === "message" ? (part.block.body.text.trimEnd().split("\n").at(-1) ?? "") : ""
}

/** Work of a sub-agent below the call that started it: one line with its newest step, and all of it on request. */
const ChildWork = ({ call: { tool }, children, isOver, parts }: ChildWorkProps) => {
  const messages = useMessages(threadMessages)
  const [isOpen, setOpen] = useState(false)
  const isLive = tool?.status === "started" && !isOver
  const line = isLive && !isOpen ? visibleLine(lineOf(parts.at(-1), messages.verbs), 120) : ""
  const isWaiting = parts.some(waits)
  const hidden = Math.max(0, parts.length - SHOWN)
  return (
    <div className="child-work">
      <button type="button" className="fold-line" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name={isOpen ? "fold" : "unfold"} />
        <span>
          {messages.childSteps(parts.length)}
          {isWaiting && (
            <strong className="child-waits">
              {" · "}
              <span aria-hidden="true">◆ </span>
              {messages.actionStates.waiting}
            </strong>
          )}
          {line !== "" && (
            <>
              {" · "}
              <bdi>{line}</bdi>
            </>
          )}
        </span>
      </button>
      {isOpen && (
        <div className="child-rows">
          {hidden > 0 && <p className="quiet">{messages.earlierHidden(hidden)}</p>}
          {children(parts.slice(hidden))}
        </div>
      )}
    </div>
  )
}

interface ExploredGroupProps {
  readonly actions: ReadonlyArray<ActionPart>
  readonly place: RunPlace
  /** Text for calls whose end can't be heard. */
  readonly silence: string | undefined
}

const isSame = (before: ExploredGroupProps, after: ExploredGroupProps): boolean =>
  before.place === after.place &&
  before.silence === after.silence &&
  before.actions.length === after.actions.length &&
  before.actions.every((action, at) => action === after.actions[at])

/** Neighbouring reads and searches on one line. What failed among them stays visible. */
const ExploredGroup = memo(({ actions, place, silence }: ExploredGroupProps) => {
  const messages = useMessages(threadMessages)
  const [open, setOpen] = useState(false)
  const states = actions.map(stateOf)
  const isRunning = states.includes("started") && silence === undefined
  const shown = open ? actions : actions.filter((_, at) => states[at] === "failed" || states[at] === "denied")
  return (
    <div className="explored">
      <button type="button" className="fold-line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name="search" />
        <span>{isRunning ? messages.exploring : messages.explored(countsOf(actions))}</span>
        <Icon name={open ? "fold" : "unfold"} />
      </button>
      {shown.length > 0 && (
        <div className="explored-actions">
          {shown.map((action) => (
            <ActionCard key={action.seq} part={action} place={place} silence={silence} />
          ))}
        </div>
      )}
    </div>
  )
}, isSame)

interface WorkContext {
  readonly children: NestedWork["children"]
  readonly place: RunPlace
  readonly isOver: boolean
  /** Text for calls whose end can't be heard, because the device is offline. */
  readonly silence: string | undefined
}

const keyOf = (row: WorkRow): string => `${row.kind} ${row.seq}`

const Row = ({ context, row }: { readonly row: WorkRow; readonly context: WorkContext }) => {
  const { children, isOver, place, silence } = context
  if (row.kind === "explored") return <ExploredGroup actions={row.actions} place={place} silence={silence} />
  if (row.kind === "block") return <BlockRow block={row.block} place={place} isOver={isOver} />
  const nested = children.get(row.seq) ?? []
  return (
    <>
      <ActionCard part={row} place={place} silence={silence} />
      {nested.length > 0 && (
        <ChildWork call={row} parts={nested} isOver={isOver}>
          {(parts) => <PartRows parts={parts} context={context} />}
        </ChildWork>
      )}
    </>
  )
}

interface PartRowsProps {
  readonly parts: ReadonlyArray<WorkPart>
  readonly context: WorkContext
}

interface RowsProps {
  readonly rows: ReadonlyArray<WorkRow>
  readonly context: WorkContext
}

const Rows = ({ context, rows }: RowsProps) =>
  rows.map((row) => (
    <div key={keyOf(row)} className="work-row">
      <Row row={row} context={context} />
    </div>
  ))

/** Parts of a run's work as rows: neighbouring reads on one line, and the work of a sub-agent below the call that started it. */
const PartRows = ({ context, parts }: PartRowsProps) => <Rows rows={rowsOfWork(parts)} context={context} />

/** Events whose rows are in one chunk, so that a row stays in its chunk. */
const CHUNK = 200

/** Rows in chunks. The browser skips those of an ended turn that are out of view, also for each key that is typed. */
const ChunkedRows = ({ context, isEnded, parts }: PartRowsProps & { readonly isEnded: boolean }) => {
  const chunks = Map.groupBy(rowsOfWork(parts), ({ seq }) => Math.floor(seq / CHUNK))
  return [...chunks].map(([chunk, rows]) => (
    <div key={chunk} className={isEnded ? "work-chunk work-chunk-ended" : "work-chunk"}>
      <Rows rows={rows} context={context} />
    </div>
  ))
}

/** Steps at the end that are in the page, and where more arrive than can be read: a screen of them. */
const TAIL = 200
const SCREEN = 30
/** Steps that arrive between two renders, which are too many to read. */
const FAST = 50
/** The first step in the page moves in such steps, so that it rarely moves. */
const BATCH = 10
/** Steps that come into the page while the reader is elsewhere, and with each request for more. */
const MORE = 1_000

interface VisibleSteps {
  readonly from: number
  readonly to: number
  readonly showEarlier: () => void
  readonly showLater: () => void
}

const tailStart = (count: number, arrived: number): number =>
  count <= TAIL ? 0 : Math.floor((count - (arrived > FAST ? SCREEN : TAIL)) / BATCH) * BATCH

/**
 * The steps of a run that are in the page. A run may have 100,000: while the end is followed, the page has the last few hundred.
 *
 * Guarantees: no step leaves the page while the reader is not at the end.
 */
const useVisibleSteps = (count: number, isFollowing: boolean): VisibleSteps => {
  const shown = useRef({ from: 0, to: 0 })
  const [, render] = useReducer((n: number) => n + 1, 0)
  const { from, to } = shown.current
  // Derived from the steps before: a render that is thrown away changes nothing else.
  shown.current = isFollowing
    ? { from: Math.max(Math.min(from, count), tailStart(count, count - to)), to: count }
    : { from, to: Math.min(count, Math.max(to, from + MORE)) }
  return {
    ...shown.current,
    showEarlier: () => {
      shown.current = { ...shown.current, from: Math.max(0, shown.current.from - MORE) }
      render()
    },
    showLater: () => {
      shown.current = { ...shown.current, to: Math.min(count, shown.current.to + MORE) }
      render()
    }
  }
}

interface WorkListProps {
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

export const WorkList = ({ answer, blocks, isOver, place, silence, version }: WorkListProps) => {
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
