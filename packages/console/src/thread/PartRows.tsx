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

export const PartRows = ({ context, parts }: Props) =>
  rowsOfWork(parts).map((row) => (
    <div key={keyOf(row)} className="work-row">
      <Row row={row} context={context} />
    </div>
  ))
