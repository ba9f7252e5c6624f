/** Scrolling list whose visible rows alone are rendered. Each has its position for screen readers, and the list scrolls by keyboard. */
import type { Virtualizer } from "@tanstack/react-virtual"
import type { HTMLAttributes, ReactNode, RefObject } from "react"
import "./virtualList.css"

interface Props<Item> {
  readonly label: string
  readonly items: ReadonlyArray<Item>
  readonly scroller: RefObject<HTMLDivElement | null>
  readonly virtual: Virtualizer<HTMLDivElement, Element>
  readonly row: (item: Item) => ReactNode
  /** Index of the row that stays at the top. The virtualizer sets it while it chooses the visible rows. */
  readonly sticky?: RefObject<number | undefined>
  /** Receives the row that has the focus. */
  readonly onActive?: (item: Item) => void
  /** Handlers of events in the list. */
  readonly handlers?: HTMLAttributes<HTMLDivElement>
}

export const VirtualList = <Item,>({
  handlers,
  items,
  label,
  onActive,
  row,
  scroller,
  sticky,
  virtual
}: Props<Item>) => (
  <div ref={scroller} className="virtual-scroll" tabIndex={0} role="group" aria-label={label} {...handlers}>
    <div className="virtual-all" role="list" style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map(({ index, key, start }) => {
        const item = items[index]
        const isSticky = index === sticky?.current
        return item === undefined ? null : (
          <div
            key={key}
            data-index={index}
            ref={virtual.measureElement}
            role="listitem"
            aria-setsize={items.length}
            aria-posinset={index + 1}
            className={isSticky ? "virtual-head" : "virtual-row"}
            style={isSticky ? undefined : { transform: `translateY(${start}px)` }}
            onFocus={onActive === undefined ? undefined : () => onActive(item)}
          >
            {row(item)}
          </div>
        )
      })}
    </div>
  </div>
)
