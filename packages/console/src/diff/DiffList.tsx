/** Virtual list of a diff. Renders only visible items, so that a file of ten thousand lines costs no more than one of ten. */
import type { FileDiff } from "@corral/domain/edge-api/Diff"
import { useMessages } from "../text/Language.tsx"
import type { DiffItem } from "./DiffItem.ts"
import { DiffRow } from "./DiffRow.tsx"
import { FileHead } from "./FileHead.tsx"
import { languageOfFile } from "./languageOf.ts"
import { diffMessages } from "./messages.ts"
import type { DiffScroll } from "./useDiffScroll.ts"
import "./diff.css"

/** As tall as its lines and its border, up to the height of the screen. */
const heightOf = (lines: number): string => `min(${lines + 2}px, max(20rem, calc(100dvh - 12rem)))`

interface ItemProps {
  readonly at: number
  readonly item: DiffItem
  readonly isOpen: boolean
  readonly onToggle: () => void
}

const DiffListItem = ({ at, isOpen, item, onToggle }: ItemProps) => {
  const messages = useMessages(diffMessages)
  switch (item.kind) {
    case "file":
      return <FileHead at={at} file={item.file} open={isOpen} onToggle={onToggle} />
    case "note":
      return <p className="diff-says">{messages[item.text]}</p>
    case "row":
      return <DiffRow row={item.row} language={languageOfFile(item.file.path)} />
  }
}

interface Props {
  readonly items: ReadonlyArray<DiffItem>
  readonly isOpen: (file: FileDiff) => boolean
  readonly onToggle: (file: FileDiff) => void
  readonly scroll: DiffScroll
}

export const DiffList = ({ isOpen, items, onToggle, scroll: { scroller, virtual } }: Props) => {
  const messages = useMessages(diffMessages)
  return (
    <div
      ref={scroller}
      className="diff-scroll"
      style={{ height: heightOf(virtual.getTotalSize()) }}
      tabIndex={0}
      role="group"
      aria-label={messages.lines}
    >
      <div className="diff-all" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const item = items[index]
          return item === undefined ? null : (
            <div
              key={index}
              data-index={index}
              ref={virtual.measureElement}
              className="diff-place"
              style={{ transform: `translateY(${start}px)` }}
            >
              <DiffListItem
                at={index}
                item={item}
                isOpen={isOpen(item.file)}
                onToggle={() => onToggle(item.file)}
              />
            </div>
          )
        })}
      </div>
    </div>
  )
}
