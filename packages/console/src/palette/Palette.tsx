/**
 * Palette: one field that finds sessions, texts in threads, files, runs, projects, devices and commands. Arrow keys choose, Enter opens. A note
 * below the list says what the search does.
 *
 * The field keeps the focus; the list follows the ARIA pattern of a combobox.
 */
import { Dialog } from "@base-ui/react/dialog"
import { firstCharacters } from "@corral/domain/text/Cut"
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react"
import type { TypedSearch } from "../api/useTypedSearch.ts"
import { shortcutOf } from "../keys/Shortcut.ts"
import { StatusMark } from "../status/SessionStatus.tsx"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { focusAtOnce } from "../ui/Dialogs.tsx"
import { Time } from "../ui/Time.tsx"
import { markedPieces, type PaletteItem, type PaletteSection } from "./paletteSections.ts"
import { paletteMessages } from "./messages.ts"
import { usePaletteSections } from "./usePaletteSections.ts"
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

interface PaletteListProps {
  readonly id: string
  readonly sections: ReadonlyArray<PaletteSection>
  readonly query: string
  readonly activeKey: string | undefined
  readonly idOf: (key: string) => string
  readonly onChoose: (key: string) => void
  readonly onRun: (item: PaletteItem) => void
}

/** List of the palette: a group for each kind, with the matches of the query marked. */
const PaletteList = ({ activeKey, id, idOf, onChoose, onRun, query, sections }: PaletteListProps) => {
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

interface PaletteNoteProps {
  readonly query: string
  /** Number of items in the list. */
  readonly found: number
  readonly search: Pick<TypedSearch<unknown>, "again" | "error" | "isSearching">
}

/** Note below the list of the palette: searching, an error, nothing found, or the number of results. */
const PaletteNote = ({ found, query, search }: PaletteNoteProps) => {
  const messages = useMessages(paletteMessages)
  const { again, error, isSearching } = search
  const text = (): string => {
    if (isSearching) return messages.searching
    if (error !== null) return messages.failed
    if (query.trim() === "") return messages.hint
    return found === 0 ? messages.nothing(firstCharacters(query.trim(), 60)) : messages.found(found)
  }
  return (
    <div className="palette-note">
      <span role="status">{text()}</span>
      {query.trim() !== "" && found > 0 && error === null && (
        <span className="palette-help" aria-hidden="true">
          {messages.hint}
        </span>
      )}
      {error !== null && !isSearching && (
        <button type="button" className="button small" onClick={again}>
          {messages.again}
        </button>
      )}
    </div>
  )
}

interface PaletteProps {
  readonly open: boolean
  readonly onClose: () => void
  /** Opens the dialog of the keys. */
  readonly onKeys: () => void
}

const optionId = (listId: string, key: string): string => `${listId} ${key}`.replaceAll(/[^\w-]/g, "-")

interface FinderProps {
  readonly onClose: () => void
  readonly onKeys: () => void
  readonly onRun: (item: PaletteItem) => void
}

const Finder = ({ onClose, onKeys, onRun }: FinderProps) => {
  const messages = useMessages(paletteMessages)
  const listId = useId()
  const [query, setQuery] = useState("")
  const [chosen, setChosen] = useState<string>()
  const { search, sections } = usePaletteSections(query, onKeys)
  const items = sections.flatMap(({ items: each }) => each)
  // What was chosen may no longer be found.
  const at = Math.max(
    0,
    items.findIndex(({ key }) => key === chosen)
  )
  const active = items[at]
  const activeId = active === undefined ? undefined : optionId(listId, active.key)
  useEffect(() => {
    if (activeId !== undefined) document.getElementById(activeId)?.scrollIntoView({ block: "nearest" })
  }, [activeId])
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter of an input method ends its word.
    if (event.nativeEvent.isComposing) return
    // The keys that open the palette close it too.
    if (shortcutOf(event, { isWriting: true, singleKeys: false }) === "palette") {
      event.preventDefault()
      onClose()
      return
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step === undefined && event.key !== "Enter") return
    event.preventDefault()
    if (step !== undefined) setChosen(items[(at + step + items.length) % items.length]?.key)
    else if (active !== undefined) onRun(active)
  }
  return (
    <>
      <div className="palette-head">
        <Icon name="search" size={18} />
        <input
          ref={focusAtOnce}
          className="palette-field"
          role="combobox"
          aria-expanded={items.length > 0}
          aria-controls={listId}
          aria-activedescendant={activeId}
          aria-autocomplete="list"
          aria-label={messages.title}
          placeholder={messages.placeholder}
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          enterKeyHint="go"
          value={query}
          onChange={({ currentTarget }) => {
            setQuery(currentTarget.value)
            setChosen(undefined)
          }}
          onKeyDown={onKeyDown}
        />
        <Dialog.Close className="icon-button" aria-label={messages.close}>
          <Icon name="close" size={18} />
        </Dialog.Close>
      </div>
      <PaletteList
        id={listId}
        sections={sections}
        query={query}
        activeKey={active?.key}
        idOf={(key) => optionId(listId, key)}
        onChoose={setChosen}
        onRun={onRun}
      />
      <PaletteNote query={query} found={items.length} search={search} />
    </>
  )
}

export const Palette = ({ onClose, onKeys, open }: PaletteProps) => {
  const messages = useMessages(paletteMessages)
  const leaves = useRef(false)
  const run = (item: PaletteItem) => {
    leaves.current = item.stays !== true
    onClose()
    item.run()
  }
  return (
    <Dialog.Root
      open={open}
      onOpenChange={(isOpen) => {
        leaves.current = false
        if (!isOpen) onClose()
      }}
    >
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        {/* A page that opens takes the focus. */}
        <Dialog.Popup className="palette" aria-label={messages.title} finalFocus={() => !leaves.current}>
          <Finder onClose={onClose} onKeys={onKeys} onRun={run} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
