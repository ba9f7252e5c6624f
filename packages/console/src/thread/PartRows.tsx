/** Parts of a run's work as rows: neighbouring reads on one line, and the work of a sub-agent below the call that started it. */
import { ActionCard } from "./ActionCard.tsx"
import { BlockRow } from "./BlockRow.tsx"
import { ChildWork } from "./ChildWork.tsx"
import { ExploredGroup } from "./ExploredGroup.tsx"
import type { NestedWork } from "./nestedWork.ts"
import type { RunPlace } from "./RunPlace.ts"
import type { WorkPart } from "./WorkPart.ts"
import { rowsOfWork, type WorkRow } from "./WorkRow.ts"
import "./work.css"

export interface WorkContext {
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

interface Props {
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

export const PartRows = ({ context, parts }: Props) => <Rows rows={rowsOfWork(parts)} context={context} />

/** Events whose rows are in one chunk, so that a row stays in its chunk. */
const CHUNK = 200

/** Rows in chunks. The browser skips those of an ended turn that are out of view, also for each key that is typed. */
export const ChunkedRows = ({ context, isEnded, parts }: Props & { readonly isEnded: boolean }) => {
  const chunks = Map.groupBy(rowsOfWork(parts), ({ seq }) => Math.floor(seq / CHUNK))
  return [...chunks].map(([chunk, rows]) => (
    <div key={chunk} className={isEnded ? "work-chunk work-chunk-ended" : "work-chunk"}>
      <Rows rows={rows} context={context} />
    </div>
  ))
}
