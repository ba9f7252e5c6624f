/** Place of a list that floats at a composer: above it, or below it in the upper half of the window. A scrolling ancestor does not cut it. */
import { type CSSProperties, type RefObject, useLayoutEffect, useState } from "react"

const GAP = 4
const MAX_HEIGHT = 288

const placementAt = (composer: Element): CSSProperties => {
  const { bottom, left, top, width } = composer.getBoundingClientRect()
  return top < innerHeight / 2
    ? { left, width, top: bottom + GAP, maxHeight: Math.min(MAX_HEIGHT, innerHeight - bottom - 2 * GAP) }
    : { left, width, bottom: innerHeight - top + GAP, maxHeight: Math.min(MAX_HEIGHT, top - 2 * GAP) }
}

/** Follows the box of the composer that contains the field. */
export const usePlacement = (field: RefObject<Element | null>): CSSProperties => {
  const [placement, setPlacement] = useState<CSSProperties>({})
  useLayoutEffect(() => {
    const composer = field.current?.closest(".composer")
    if (composer == null) return undefined
    const place = () => setPlacement(placementAt(composer))
    place()
    const sizes = new ResizeObserver(place)
    sizes.observe(composer)
    addEventListener("resize", place)
    addEventListener("scroll", place, true)
    return () => {
      sizes.disconnect()
      removeEventListener("resize", place)
      removeEventListener("scroll", place, true)
    }
  }, [field])
  return placement
}
