/** Edge of the sidebar: dragged, or moved with arrow keys, it sets the width, which this browser remembers. */
import { type KeyboardEvent, type PointerEvent, useEffect } from "react"
import { useMessages } from "../text/Language.tsx"
import { useStoredText } from "../ui/StoredText.ts"
import { appMessages } from "./messages.ts"

const MIN = 208
const MAX = 360
const DEFAULT = 256
const STEP = 16

/** A stored width within the limits. */
export const sidebarWidthOf = (text: string | null): number => {
  const width = text === null ? DEFAULT : Math.round(Number(text))
  return Number.isFinite(width) ? Math.min(Math.max(width, MIN), MAX) : DEFAULT
}

export const SidebarResize = () => {
  const messages = useMessages(appMessages)
  const [text, store] = useStoredText("corral.sidebar")
  const width = sidebarWidthOf(text)
  useEffect(() => {
    document.documentElement.style.setProperty("--sidebar", `${width}px`)
    return () => void document.documentElement.style.removeProperty("--sidebar")
  }, [width])
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key]
    if (by === undefined) return
    event.preventDefault()
    store(String(sidebarWidthOf(String(width + by))))
  }
  const onPointerMove = ({ buttons, clientX, currentTarget, pointerId }: PointerEvent<HTMLDivElement>) => {
    if (buttons === 1 && currentTarget.hasPointerCapture(pointerId))
      store(String(sidebarWidthOf(String(clientX))))
  }
  return (
    <div
      className="sidebar-resize"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={messages.sidebarWidth}
      aria-valuenow={width}
      aria-valuemin={MIN}
      aria-valuemax={MAX}
      onKeyDown={onKeyDown}
      onPointerDown={({ currentTarget, pointerId }) => currentTarget.setPointerCapture(pointerId)}
      onPointerMove={onPointerMove}
      onDoubleClick={() => store(String(DEFAULT))}
    />
  )
}
