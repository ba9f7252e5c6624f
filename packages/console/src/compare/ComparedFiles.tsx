/**
 * Changed files of all candidates: a row for each file, with what each candidate did, and its versions side by side when it is open. Files that
 * all changed in the same way are folded.
 */
import type { ComparedFile, GroupComparison, TaskGroup } from "@corral/domain/hub-api/TaskGroups"
import { useState } from "react"
import { letterOf } from "../group/candidates.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { compareMessages } from "./messages.ts"
import { type FileCell, VariantPanel, cellsOf, variantsOf } from "./VariantPanel.tsx"
import type { ComponentProps } from "react"
import "../diff/diff.css"
import "../group/group.css"
import "../review/changes.css"
import "./compare.css"

type PanelProps = Pick<ComponentProps<typeof VariantPanel>, "decisions" | "onSayWhy" | "onSides">

interface CellProps {
  readonly cell: FileCell
  readonly place: number
  readonly label: string
}

const Cell = ({ cell, label, place }: CellProps) => {
  const messages = useMessages(compareMessages)
  const letter = letterOf(place)
  if (cell.kind === "none")
    return (
      <span className="file-cell file-cell-none">
        <span className="file-cell-letter">{letter} </span>
        <span aria-hidden="true">{messages.unchanged}</span>
        <span className="hidden">{messages.notChanged(label)}</span>
      </span>
    )
  if (cell.kind === "same")
    return (
      <span className="file-cell">
        <span className="file-cell-letter">{letter} </span>
        <span className="quiet" aria-hidden="true">
          {messages.sameAs(letterOf(cell.as))}
        </span>
        <span className="hidden">{messages.sameAsName(letterOf(cell.as))}</span>
      </span>
    )
  const { additions, deletions, status } = cell.file
  return (
    <span className="file-cell">
      <span className="file-cell-letter">{letter} </span>
      {additions + deletions === 0 && <span>{messages[status]}</span>}
      {additions > 0 && <ins className="diff-plus">+{additions}</ins>}{" "}
      {deletions > 0 && <del className="diff-minus">−{deletions}</del>}
    </span>
  )
}

interface RowProps extends PanelProps {
  readonly group: TaskGroup
  readonly file: ComparedFile
  readonly isOpen: boolean
  readonly onToggle: () => void
}

const FileRow = ({ file, group, isOpen, onToggle, ...panel }: RowProps) => {
  const variants = variantsOf(file, group)
  const cells = cellsOf(variants, group)
  const cut = file.path.lastIndexOf("/") + 1
  return (
    <li className="compared-file">
      <button type="button" className="compared-row" aria-expanded={isOpen} onClick={onToggle}>
        <span className="compared-path">
          <Icon name={isOpen ? "fold" : "unfold"} size={14} />
          <span className="file-path" title={visibleLine(file.path, 1_000)}>
            {cut > 0 && <span className="file-folder">{visibleLine(file.path.slice(0, cut), 1_000)}</span>}
            <span className="file-name">{visibleLine(file.path.slice(cut), 400)}</span>
          </span>
        </span>{" "}
        <span className={`file-cells file-cells-${cells.length}`}>
          {cells.map((cell, place) => (
            <Cell
              key={place}
              cell={cell}
              place={place}
              label={visibleLine(group.candidates[place]?.label ?? "", 60)}
            />
          ))}
        </span>
      </button>
      {isOpen && (
        <div className={variants.length > 1 ? "variants" : "variants variants-one"}>
          {variants.map((variant) => (
            <VariantPanel key={variant.places.join(" ")} group={group} variant={variant} {...panel} />
          ))}
        </div>
      )}
    </li>
  )
}

interface Props extends PanelProps {
  readonly group: TaskGroup
  readonly comparison: GroupComparison
  /** Ids of open files. */
  readonly open: ReadonlySet<string>
  readonly onToggle: (id: string) => void
}

const Rows = ({
  files,
  onToggle,
  open,
  ...props
}: Omit<Props, "comparison"> & { files: ReadonlyArray<ComparedFile> }) => (
  <ul className="compared-files">
    {files.map((file) => (
      <FileRow
        key={file.id}
        file={file}
        isOpen={open.has(file.id)}
        onToggle={() => onToggle(file.id)}
        {...props}
      />
    ))}
  </ul>
)

export const ComparedFiles = ({ comparison, ...props }: Props) => {
  const messages = useMessages(compareMessages)
  const [isSameOpen, setSameOpen] = useState(false)
  const { group } = props
  const different = comparison.files.filter(({ same }) => same !== true)
  const same = comparison.files.filter((file) => file.same === true)
  return (
    <>
      {different.length > 0 && (
        <>
          <div className="compared-head" aria-hidden="true">
            <span>{messages.file}</span>
            <span className={`file-cells file-cells-${group.candidates.length}`}>
              {group.candidates.map(({ task }, place) => (
                <span key={task.id} className="candidate-letter">
                  {letterOf(place)}
                </span>
              ))}
            </span>
          </div>
          <Rows files={different} {...props} />
        </>
      )}
      {same.length > 0 && (
        <>
          <button
            type="button"
            className="fold-line compared-same"
            aria-expanded={isSameOpen}
            onClick={() => setSameOpen(!isSameOpen)}
          >
            <Icon name={isSameOpen ? "fold" : "unfold"} />
            <span>{messages.same(same.length)}</span>
          </button>
          {isSameOpen && <Rows files={same} {...props} />}
        </>
      )}
    </>
  )
}
