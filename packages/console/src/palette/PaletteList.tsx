/** List of the palette: a group for each kind, with the matches of the query marked. */
import { StatusMark } from "../status/StatusMark.tsx"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Time } from "../ui/Time.tsx"
import type { PaletteItem, PaletteSection } from "./PaletteItem.ts"
import { paletteMessages } from "./messages.ts"
import { markedPieces } from "./rank.ts"
import "./palette.css"

const MarkedText = ({ query, text }: { readonly query: string; readonly text: string }) => (
  <bdi>
    {markedPieces(text, query).map(({ isMatch, text: piece }, at) =>
      isMatch ? <mark key={at}>{piece}</mark> : piece
    )}
  </bdi>
)

interface OptionProps {
  readonly item: PaletteItem
  readonly id: string
  readonly query: string
  readonly isActive: boolean
  readonly onChoose: () => void
  readonly onRun: () => void
}

const PaletteOption = ({ id, isActive, item, onChoose, onRun, query }: OptionProps) => {
  const { at, detail, icon, shortcut, status = "idle", title } = item
  return (
    // The field has the focus and the keys.
    <div
      role="option"
      id={id}
      className="palette-option"
      aria-selected={isActive}
      // Not when the list moves below a resting pointer.
      onMouseMove={onChoose}
      onMouseDown={(event) => event.preventDefault()}
      onClick={onRun}
    >
      <Icon name={icon} />
      <span className="palette-text">
        <MarkedText text={title} query={query} />{" "}
        {detail !== undefined && (
          <span className="palette-detail">
            <MarkedText text={detail} query={query} />
          </span>
        )}
      </span>
      {status !== "idle" && <StatusMark status={status} />}
      {at !== undefined && (
        <span className="palette-side">
          <Time at={at} />
        </span>
      )}
      {shortcut !== undefined && <kbd className="palette-keys">{shortcut}</kbd>}
    </div>
  )
}

interface Props {
  readonly id: string
  readonly sections: ReadonlyArray<PaletteSection>
  readonly query: string
  readonly activeKey: string | undefined
  readonly idOf: (key: string) => string
  readonly onChoose: (key: string) => void
  readonly onRun: (item: PaletteItem) => void
}

export const PaletteList = ({ activeKey, id, idOf, onChoose, onRun, query, sections }: Props) => {
  const messages = useMessages(paletteMessages)
  return (
    <div role="listbox" id={id} className="palette-list" aria-label={messages.results}>
      {sections.map(({ items, kind }) => (
        <div key={kind} role="group" aria-labelledby={`${id}-${kind}`}>
          <div id={`${id}-${kind}`} className="palette-kind" role="presentation">
            {messages.kinds[kind]}
          </div>
          {items.map((item) => (
            <PaletteOption
              key={item.key}
              item={item}
              id={idOf(item.key)}
              query={query}
              isActive={item.key === activeKey}
              onChoose={() => onChoose(item.key)}
              onRun={() => onRun(item)}
            />
          ))}
        </div>
      ))}
    </div>
  )
}
