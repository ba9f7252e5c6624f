/**
 * Palette: one field that finds sessions, texts in threads, files, runs, projects, devices and commands. Arrow keys choose, Enter opens.
 *
 * The field keeps the focus; the list follows the ARIA pattern of a combobox.
 */
import { Dialog } from "@base-ui/react/dialog"
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react"
import { shortcutOf } from "../keys/Shortcut.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { focusAtOnce } from "../ui/InitialFocus.ts"
import type { PaletteItem } from "./PaletteItem.ts"
import { PaletteList } from "./PaletteList.tsx"
import { PaletteNote } from "./PaletteNote.tsx"
import { paletteMessages } from "./messages.ts"
import { usePaletteSections } from "./usePaletteSections.ts"
import "./palette.css"

interface Props {
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

export const Palette = ({ onClose, onKeys, open }: Props) => {
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
