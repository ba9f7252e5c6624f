/**
 * Files in conflict: the workspace's version, the agent's and the one before both, where they differ, so that a person need not search whole files;
 * and what a person can do.
 */
import type { ConflictSides } from "@corral/domain/edge-api/ChangeSet"
import { type ReactNode, useMemo } from "react"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { decideMessages } from "./decideMessages.ts"
import "./decide.css"

const sideNames = ["workspace", "change", "base"] as const
type SideName = (typeof sideNames)[number]

interface ConflictLine {
  readonly number: number
  readonly text: string
  /** Whether the base has no such line at this place. */
  readonly isOther: boolean
}

/** `undefined` for a version without text to show. */
type ConflictRegion = { readonly [S in SideName]: ReadonlyArray<ConflictLine> | undefined }

/** Lines around the difference. */
const CONTEXT = 3
/** Most lines of a version. */
const MOST = 400

const linesOf = (text: string | undefined): ReadonlyArray<string> | undefined =>
  text === undefined ? undefined : text.replace(/\n$/, "").split("\n")

/** Lines at the start that all have. */
const commonStart = (versions: ReadonlyArray<ReadonlyArray<string>>): number => {
  const [first = [], ...others] = versions
  let count = 0
  while (
    count < first.length &&
    others.every((lines) => lines.length > count && lines[count] === first[count])
  )
    count++
  return count
}

/** The lines of each version that differ, with a few around them. */
export const conflictRegion = (sides: ConflictSides): ConflictRegion => {
  const versions = sideNames.map((name) => linesOf(sides[name]))
  const texts = versions.filter((lines) => lines !== undefined)
  const start = commonStart(texts)
  const end = commonStart(texts.map((lines) => lines.slice(start).toReversed()))
  const from = Math.max(0, start - CONTEXT)
  const base = new Set(linesOf(sides.base)?.slice(start))
  const region = (lines: ReadonlyArray<string> | undefined, name: SideName) =>
    lines
      ?.slice(from, Math.max(from, lines.length - end + CONTEXT))
      .slice(0, MOST)
      .map((text, at) => {
        const index = from + at
        const isChanged = index >= start && index < lines.length - end
        return { number: index + 1, text, isOther: name !== "base" && isChanged && !base.has(text) }
      })
  const [workspace, change, before] = versions
  return {
    workspace: region(workspace, "workspace"),
    change: region(change, "change"),
    base: region(before, "base")
  }
}

const Side = ({
  lines,
  name
}: {
  readonly lines: ReadonlyArray<ConflictLine> | undefined
  readonly name: string
}) => {
  const messages = useMessages(decideMessages)
  return (
    <section className="conflict-side" aria-label={name}>
      <h5>{name}</h5>
      {lines === undefined || lines.length === 0 ? (
        <p className="quiet">{lines === undefined ? messages.noSide : messages.emptySide}</p>
      ) : (
        <pre tabIndex={0} aria-label={name}>
          {lines.map(({ isOther, number, text }) => (
            <span key={number} className={isOther ? "conflict-line conflict-other" : "conflict-line"}>
              <span className="conflict-number">{number}</span>
              <code>{visibleText(text)}</code>
            </span>
          ))}
        </pre>
      )}
    </section>
  )
}

/** The versions of one file, where they differ. */
export const ConflictFile = ({ sides }: { readonly sides: ConflictSides }) => {
  const messages = useMessages(decideMessages)
  const region = useMemo(() => conflictRegion(sides), [sides])
  return (
    <article className="conflict-file" aria-label={visibleLine(sides.path, 1_000)}>
      <h4>
        <code>{visibleLine(sides.path, 1_000)}</code>
      </h4>
      <div className="conflict-sides">
        {sideNames.map((name) => (
          <Side key={name} name={messages.sides[name]} lines={region[name]} />
        ))}
      </div>
    </article>
  )
}

interface Props {
  readonly files: ReadonlyArray<ConflictSides>
  /** Whether the Edge refused a decision. Otherwise the conflict was there before. */
  readonly isRefused: boolean
  readonly children?: ReactNode
  readonly onDismiss: () => void
}

export const ConflictView = ({ children, files, isRefused, onDismiss }: Props) => {
  const messages = useMessages(decideMessages)
  const { ask, edit, reject } = messages.conflictSteps
  return (
    <section className="conflict" role="alert" aria-label={messages.conflictTitle(files.length)}>
      <header className="conflict-head">
        <Icon name="warning" />
        <h3>{messages.conflictTitle(files.length)}</h3>
        <button type="button" className="icon-button" aria-label={messages.dismiss} onClick={onDismiss}>
          <Icon name="close" />
        </button>
      </header>
      <p>{isRefused ? messages.conflictText : messages.conflictMarked}</p>
      <ul>
        <li>{edit}</li>
        <li>{reject}</li>
        <li>{ask}</li>
      </ul>
      {children !== undefined && <div className="conflict-actions">{children}</div>}
      {files.map((sides) => (
        <ConflictFile key={sides.id} sides={sides} />
      ))}
    </section>
  )
}
