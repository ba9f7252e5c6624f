/**
 * Focus of an element that goes away by what it did: a button that removes its row, the last "Show more", a button that waits for its answer.
 *
 * Guarantees: the focus is then on the nearest region of the page that is left, never on nothing, so that the next Tab continues there. It
 * returns to a button that was only disabled. *Does not:* press or focus a button in the place of another, or take a focus that the user or
 * the page has moved.
 */
import { useEffect } from "react"

/** Time in which a page or a dialog that closes moves the focus itself, in milliseconds. */
const SETTLE_MS = 100

/** Where the focus can wait. */
const REGIONS = "section, ul, ol, table, form, fieldset, aside, nav, [role=group], [role=log], main"

/** Marks a region that has the focus only because an element of it is gone. */
export const KEPT_FOCUS = "[data-kept-focus]"

const regionsOf = (element: Element): ReadonlyArray<HTMLElement> => {
  const regions: Array<HTMLElement> = []
  for (let up = element.parentElement; up !== null; up = up.parentElement)
    if (up.matches(REGIONS)) regions.push(up)
  return regions
}

const isUsable = (element: HTMLElement): boolean =>
  element.isConnected && !element.matches(":disabled") && element.checkVisibility()

class FocusKeeper {
  private last: HTMLElement | undefined
  private regions: ReadonlyArray<HTMLElement> = []
  private substitute: HTMLElement | undefined
  private timer: ReturnType<typeof setTimeout> | undefined

  readonly onFocusIn = ({ target }: FocusEvent): void => {
    if (!(target instanceof HTMLElement) || target === this.substitute) return
    this.release()
    // What closes over the page leaves the focus where it was opened.
    this.regions =
      target.closest("main") === null ? [...regionsOf(target), ...this.regions] : regionsOf(target)
    this.last = target
  }

  /** The focus of an element that stays was taken away by the user. */
  readonly onFocusOut = ({ relatedTarget }: FocusEvent): void => {
    if (relatedTarget !== null) return
    requestAnimationFrame(() => {
      if (this.substitute === undefined && this.last !== undefined && isUsable(this.last))
        this.last = undefined
    })
  }

  /** After changes of the page. */
  readonly check = (): void => {
    const { last, substitute } = this
    if (
      last !== undefined &&
      substitute !== undefined &&
      document.activeElement === substitute &&
      isUsable(last)
    )
      last.focus({ preventScroll: true })
    else if (this.isLost) this.timer ??= setTimeout(this.keep, SETTLE_MS)
  }

  stop(): void {
    clearTimeout(this.timer)
  }

  private get isLost(): boolean {
    const { activeElement, body } = document
    return (
      (activeElement === body || activeElement === null) && this.last !== undefined && !isUsable(this.last)
    )
  }

  private readonly keep = (): void => {
    this.timer = undefined
    if (!this.isLost) return
    this.substitute?.removeAttribute("data-kept-focus")
    const region = this.regions.find(isUsable) ?? document.querySelector<HTMLElement>("main")
    if (region === null || region === undefined) return
    this.substitute = region
    if (!region.hasAttribute("tabindex")) region.tabIndex = -1
    region.setAttribute("data-kept-focus", "")
    region.focus({ preventScroll: true })
  }

  private release(): void {
    this.substitute?.removeAttribute("data-kept-focus")
    this.substitute = undefined
  }
}

export const useKeptFocus = (): void => {
  useEffect(() => {
    const keeper = new FocusKeeper()
    let frame: number | undefined
    const observer = new MutationObserver(() => {
      frame ??= requestAnimationFrame(() => {
        frame = undefined
        keeper.check()
      })
    })
    document.addEventListener("focusin", keeper.onFocusIn)
    document.addEventListener("focusout", keeper.onFocusOut)
    observer.observe(document.body, {
      subtree: true,
      childList: true,
      attributeFilter: ["disabled", "hidden"]
    })
    return () => {
      if (frame !== undefined) cancelAnimationFrame(frame)
      keeper.stop()
      observer.disconnect()
      document.removeEventListener("focusin", keeper.onFocusIn)
      document.removeEventListener("focusout", keeper.onFocusOut)
    }
  }, [])
}
