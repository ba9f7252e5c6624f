/**
 * Row of a list: a name with a line of details below it, and a menu of actions behind one button. A dialog that an action opens is rendered next
 * to the menu.
 */
import { Menu } from "@base-ui/react/menu"
import type { ReactNode } from "react"
import { useMessages } from "../text/Language.tsx"
import { Icon, type IconName } from "./Icon.tsx"
import { uiMessages } from "./messages.ts"

interface RowMainProps {
  readonly name: string
  /** Shown after the name, such as a badge. */
  readonly suffix?: ReactNode
  /** The line of details. */
  readonly children: ReactNode
}

/** Main part of a list row: a name, and a line of details below it. */
export const RowMain = ({ children, name, suffix }: RowMainProps) => (
  <div className="row-main">
    <strong>
      <bdi>{name}</bdi>
    </strong>
    {suffix !== undefined && <> {suffix}</>}
    <br />
    <span className="quiet">{children}</span>
  </div>
)

interface ItemProps {
  readonly icon: IconName
  readonly onSelect: () => void
  readonly children: ReactNode
}

export const RowMenuItem = ({ children, icon, onSelect }: ItemProps) => (
  <Menu.Item className="menu-item" onClick={onSelect}>
    <Icon name={icon} />
    {children}
  </Menu.Item>
)

interface RowMenuProps {
  /** Name of what the row shows, for the label of the button. */
  readonly of: string
  /** Id that the last item copies. */
  readonly id: string
  readonly children?: ReactNode
}

/** Actions of a list row, behind one button. A dialog that an action opens is rendered next to the menu. */
export const RowMenu = ({ children, id, of }: RowMenuProps) => {
  const messages = useMessages(uiMessages)
  return (
    <Menu.Root>
      <Menu.Trigger className="icon-button" aria-label={messages.actionsOf(of)}>
        <Icon name="more" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner className="menu-positioner" sideOffset={4} align="end">
          <Menu.Popup className="menu">
            {children}
            <RowMenuItem icon="copy" onSelect={() => void navigator.clipboard.writeText(id)}>
              {messages.copyId}
            </RowMenuItem>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
