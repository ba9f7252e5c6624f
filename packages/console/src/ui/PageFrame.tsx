/** Frame of a page: heading, browser tab title and actions. */
import { type ReactNode, type RefObject, useEffect, useRef } from "react"
import { usePendingCount } from "../api/Pending.ts"

/** `(2) Runs · Corral`: shows pending approvals in the tab title. */
export const tabTitle = (title: string, waiting: number): string =>
  `${waiting > 0 ? `(${waiting}) ` : ""}${title === "" ? "" : `${title} · `}Corral`

/** Path of the last page. The heading of another page takes the focus, so that screen readers announce it; a page that loads keeps the focus. */
let shown: string | undefined

/** Whether the page has given the focus to another element, such as a composer. */
const hasFocus = (heading: HTMLElement | null): boolean =>
  heading?.closest("header")?.parentElement?.contains(document.activeElement) === true

/** Sets the title of the browser tab. Returns the ref of the page's heading, which takes the focus of a new page. */
export const usePageHeading = (title: string): RefObject<HTMLHeadingElement | null> => {
  const waiting = usePendingCount()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = tabTitle(title, waiting)
  }, [title, waiting])
  useEffect(() => {
    const { pathname } = location
    if (shown !== undefined && shown !== pathname && !hasFocus(heading.current))
      heading.current?.focus({ preventScroll: true })
    shown = pathname
  }, [])
  return heading
}

interface Props {
  readonly title: string
  /** Link to the parent page, above the title. */
  readonly above?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

export const PageFrame = ({ above, actions, children, title }: Props) => {
  const heading = usePageHeading(title)
  return (
    <div className="page">
      <header className="page-head">
        <div>
          {above !== undefined && <p className="page-above">{above}</p>}
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
        </div>
        {actions !== undefined && <div className="page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  )
}
