/** Whether a media query matches, as it changes. */
import { useCallback, useSyncExternalStore } from "react"

/** Widths at which places move: the sidebar becomes a sheet, then the panel too. */
export const phone = "(max-width: 639px)"
export const withoutSidebar = "(max-width: 899px)"
export const withoutPanel = "(max-width: 1199px)"

export const useMedia = (query: string): boolean =>
  useSyncExternalStore(
    useCallback(
      (onChange) => {
        const list = matchMedia(query)
        list.addEventListener("change", onChange)
        return () => list.removeEventListener("change", onChange)
      },
      [query]
    ),
    () => matchMedia(query).matches
  )
