/** A page: its heading, which also names the browser's tab, and what can be done here. */
import { type ReactNode, useEffect, useRef } from "react"
import { useWaiting } from "../api/Waiting.ts"

/** `(2) Runs · Corral`: what waits is seen in another tab too. */
export const tabTitle = (title: string, waiting: number): string =>
  `${waiting > 0 ? `(${waiting}) ` : ""}${title === "" ? "" : `${title} · `}Corral`

/** Whether the console has shown a page before: the first heading takes no focus, later ones do, so that it is read out where one is. */
let shown = false

interface Props {
  readonly title: string
  /** Above the title: where the page belongs. */
  readonly above?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

export const PageFrame = ({ above, actions, children, title }: Props) => {
  const waiting = useWaiting()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = tabTitle(title, waiting)
  }, [title, waiting])
  useEffect(() => {
    if (shown) heading.current?.focus({ preventScroll: true })
    shown = true
  }, [])
  return (
    <>
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
    </>
  )
}
