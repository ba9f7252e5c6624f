/**
 * Versions of a file in a comparison: candidates that change it in the same way share one. Of each version: who has it, its changed lines, and the
 * decisions about the file and each hunk.
 */
import type { ChangedFile } from "@corral/domain/edge-api/ChangeSet"
import type { ComparedFile, TaskGroup } from "@corral/domain/hub-api/TaskGroups"
import type { RunId } from "@corral/domain/identity/Ids"
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useMemo, useState } from "react"
import { useCanDecide } from "../api/ProjectsAndTargets.ts"
import { DiffRow } from "../diff/DiffRow.tsx"
import { languageOfFile } from "../diff/languageOfFile.ts"
import { diffMessages } from "../diff/messages.ts"
import { rowsOf } from "../diff/rows.ts"
import { agentLabel, letterOf } from "../group/candidates.ts"
import { visibleLine } from "../markdown/visible.ts"
import { DecideButtons, FileBadges, HunkHead, type PartDecisions } from "../review/DecisionParts.tsx"
import { isLarge, noteOf } from "../review/ReviewItem.ts"
import { reviewMessages } from "../review/messages.ts"
import { type DecidedPart, setFile } from "../review/setFiles.ts"
import { contentQuery } from "../review/useChangeSet.ts"
import type { ReviewFile } from "../review/useChanges.ts"
import { useMessages, usePunctuation } from "../text/Language.tsx"
import { Loading } from "../ui/ListStates.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { compareMessages } from "./messages.ts"
import type { GroupDecisions } from "./useComparison.ts"
import "../diff/diff.css"
import "../group/group.css"
import "../review/decide.css"
import "./compare.css"

/** A version of a file, and the candidates that have it, by their places in the group. */
interface FileVariant {
  /** The first candidate's. Decisions are about its change set. */
  readonly runId: RunId
  readonly file: ChangedFile
  readonly places: ReadonlyArray<number>
}

/** In the order of the candidates. Two candidates share a version if what is undecided of the file is equal. */
export const variantsOf = (
  { changes }: Pick<ComparedFile, "changes">,
  { candidates }: Pick<TaskGroup, "candidates">
): ReadonlyArray<FileVariant> => {
  const variants = new Map<string, FileVariant>()
  for (const { file, runId, taskId } of changes) {
    const place = candidates.findIndex(({ task }) => task.id === taskId)
    if (place === -1) continue
    const before = variants.get(file.version)
    variants.set(
      file.version,
      before === undefined
        ? { runId, file, places: [place] }
        : { ...before, places: [...before.places, place] }
    )
  }
  return [...variants.values()]
}

/** What the cell of a candidate shows in the row of a file. */
export type FileCell =
  | { readonly kind: "none" }
  | { readonly kind: "changed"; readonly file: ChangedFile }
  /** The candidate at that place has the same version, and is shown before. */
  | { readonly kind: "same"; readonly as: number }

export const cellsOf = (
  variants: ReadonlyArray<FileVariant>,
  { candidates }: { readonly candidates: ReadonlyArray<unknown> }
): ReadonlyArray<FileCell> =>
  candidates.map((_, place): FileCell => {
    const variant = variants.find(({ places }) => places.includes(place))
    const [first = place] = variant?.places ?? []
    if (variant === undefined) return { kind: "none" }
    return first === place ? { kind: "changed", file: variant.file } : { kind: "same", as: first }
  })

/** A part of a candidate's change set. */
export interface CandidatePart {
  readonly runId: RunId
  readonly part: DecidedPart
}

interface Props {
  readonly group: TaskGroup
  readonly variant: FileVariant
  readonly decisions: GroupDecisions
  readonly onSayWhy: (of: CandidatePart) => void
  readonly onSides: (file: ReviewFile) => void
}

/** Rows that are shown at first, and with each step. */
const FIRST = 300
const STEP = 600

const none: PartDecisions["failed"] = new Map()
const doNothing = (): void => undefined

const usePartDecisions = ({
  decisions,
  group,
  onSayWhy,
  onSides,
  variant: { runId }
}: Props): PartDecisions => {
  const isAllowed = useCanDecide(group.projectId)
  const isLive = group.candidates.some(({ changes }) => changes?.runId === runId && changes.live)
  return {
    isAllowed,
    isOpen: isAllowed && !isLive,
    pendingOf: (part) => decisions.pendingOf(runId, part),
    onAccept: (part) => decisions.decide("accept", runId, part),
    onReject: (part) => decisions.decide("reject", runId, part),
    onSayWhy: (part) => onSayWhy({ runId, part }),
    onSides,
    onApply: doNothing,
    want: doNothing,
    failed: none,
    canWiden: () => false,
    widen: doNothing,
    showBlank: doNothing,
    comments: []
  }
}

const Lines = ({ decisions, file }: { readonly file: ReviewFile; readonly decisions: PartDecisions }) => {
  const messages = useMessages(diffMessages)
  const { notes, showLines } = useMessages(reviewMessages)
  const { diff } = file
  const [most, setMost] = useState(isLarge(diff) ? 0 : FIRST)
  const rows = useMemo(() => rowsOf(diff.hunks, "unified"), [diff.hunks])
  const language = languageOfFile(diff.path)
  const note = noteOf(diff)
  if (note !== undefined && rows.length === 0) return <p className="compare-note">{notes[note]}</p>
  return (
    <div className="variant-lines">
      {rows
        .slice(0, most)
        .map((row, at) =>
          row.kind === "hunk" ? (
            <HunkHead
              key={`hunk ${file.parts?.hunkIds[row.at] ?? at}`}
              file={file}
              row={row}
              decisions={decisions}
            />
          ) : (
            <DiffRow key={at} row={row} language={language} />
          )
        )}
      {rows.length > most && (
        <button type="button" className="clipped-more" onClick={() => setMost(most + STEP)}>
          {most === 0 ? showLines(diff.additions + diff.deletions) : messages.moreLines(rows.length - most)}
        </button>
      )}
      {note === "truncated" && <p className="compare-note">{notes[note]}</p>}
    </div>
  )
}

export const VariantPanel = (props: Props) => {
  const messages = useMessages(compareMessages)
  const { comma } = usePunctuation()
  const { group, variant } = props
  const { file: changed, places, runId } = variant
  // While the next version loads, the last one stays, and nothing can be decided about it.
  const content = useQuery({ ...contentQuery(runId, changed), placeholderData: keepPreviousData })
  const file = setFile(changed, content.data, false)
  const open = usePartDecisions(props)
  const decisions = content.isPlaceholderData ? { ...open, isOpen: false } : open
  const labels = places.map((place) => {
    const candidate = group.candidates[place]
    return candidate === undefined ? "" : visibleLine(agentLabel(candidate), 60)
  })
  const names = places.map((place, at) => `${letterOf(place)} ${labels[at] ?? ""}`)
  const letters = places.map(letterOf).join(comma)
  const path = visibleLine(changed.path, 400)
  const { additions, deletions, status } = changed
  return (
    <section className="variant" aria-label={messages.variant(names.join(comma), path)}>
      <header className="variant-head">
        {places.map((place) => (
          <span key={place} className="candidate-letter" aria-hidden="true">
            {letterOf(place)}
          </span>
        ))}
        <span className="variant-names">
          <bdi>{[...new Set(labels)].join(comma)}</bdi>
          {status !== "modified" && <span className="quiet"> · {messages[status]}</span>}
        </span>
        <span className="variant-counts">
          {additions > 0 && <ins className="diff-plus">+{additions}</ins>}{" "}
          {deletions > 0 && <del className="diff-minus">−{deletions}</del>}
        </span>
        <DecideButtons part={{ file }} name={messages.of(path, letters)} decisions={decisions} />
        <FileBadges file={file} decisions={decisions} />
      </header>
      {content.isLoading && <Loading />}
      <RefusalNote error={content.error} again={() => void content.refetch()} />
      {content.data !== undefined && <Lines file={file} decisions={decisions} />}
    </section>
  )
}
