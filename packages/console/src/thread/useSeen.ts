/** Whether an element was in view, or close to it, at any time. */
import { type RefObject, useEffect, useState } from "react"

export const useSeen = (element: RefObject<Element | null>): boolean => {
  const [seen, setSeen] = useState(false)
  useEffect(() => {
    const target = element.current
    if (seen || target === null) return undefined
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true)
      },
      { rootMargin: "200px" }
    )
    observer.observe(target)
    return () => observer.disconnect()
  }, [element, seen])
  return seen
}
