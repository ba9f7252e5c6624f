/**
 * Plot of amounts: one column for each place, of two parts, one on the other, and round values on the axis. The second part is hatched, so that no
 * colour is needed to tell them apart. The column that is pointed at or touched is described above the plot.
 *
 * Does not: say everything to screen readers. Its label is a summary, and a table next to it has the values.
 */
import { type PointerEvent, useId, useLayoutEffect, useRef, useState } from "react"
import "./usage.css"

const STEPS = 4
const factors = [1, 2, 2.5, 5, 10]

/**
 * Values of the axis from 0 to at least `most`, at most five, with equal distances of 1, 2, 2.5 or 5 times a power of ten. `isWhole`: the distance
 * is a whole number.
 */
export const axisTicks = (most: number, isWhole: boolean): ReadonlyArray<number> => {
  if (!(most > 0)) return isWhole ? [0, 1] : [0, 0.01]
  const power = 10 ** Math.floor(Math.log10(most / STEPS))
  const isUsable = (step: number): boolean => step * STEPS >= most && (!isWhole || Number.isInteger(step))
  const step = factors.map((factor) => factor * power).find(isUsable) ?? Math.ceil(most / STEPS)
  const count = Math.max(1, Math.ceil(most / step - 1e-9))
  // Without the last digits of products, which are noise.
  return Array.from({ length: count + 1 }, (_, at) => Number((at * step).toPrecision(12)))
}

/** Places of `count` columns that have a label: the last one, and others at equal distances before it, at least `space` apart. */
export const labelledPlaces = (count: number, width: number, space: number): ReadonlySet<number> => {
  if (count === 0) return new Set()
  const every = Math.max(1, Math.ceil((space * count) / Math.max(1, width)))
  return new Set(Array.from({ length: Math.ceil(count / every) }, (_, at) => count - 1 - at * every))
}

export interface PlotColumn {
  readonly key: string
  /** Below the column. */
  readonly label: string
  /** Amount of the lower, plain part. */
  readonly plain: number
  /** Amount of the upper, hatched part. */
  readonly hatched: number
  /** The column in words. */
  readonly text: string
}

interface PlotProps {
  readonly columns: ReadonlyArray<PlotColumn>
  /** Summary of the plot. */
  readonly label: string
  /** What is above the plot while no column is pointed at. */
  readonly caption: string
  /** Whether amounts are whole numbers. */
  readonly isWhole: boolean
  readonly formatTick: (amount: number) => string
}

const HEIGHT = 200
const TOP = 8
const BOTTOM = 22
const LABEL_SPACE = 80
/** Columns of the text of a tick, in pixels. */
const CHARACTER = 7
const MOST_WIDE = 36

/** Width of the element in pixels: 0 before it is measured. */
const useElementWidth = <E extends HTMLElement>() => {
  const ref = useRef<E>(null)
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const element = ref.current
    if (element === null) return undefined
    const measure = () => setWidth(element.clientWidth)
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return [ref, width] as const
}

interface ColumnProps {
  readonly column: PlotColumn
  readonly x: number
  readonly width: number
  /** Pixels of an amount. */
  readonly heightOf: (amount: number) => number
  readonly hatch: string
}

/** A part that is there is at least this high. */
const LEAST_HEIGHT = 2
/** A narrower column has no room for hatching: its upper part is lighter. */
const THIN = 5

const Column = ({ column: { hatched, plain }, hatch, heightOf, width, x }: ColumnProps) => {
  const visible = (amount: number) => (amount > 0 ? Math.max(LEAST_HEIGHT, heightOf(amount)) : 0)
  const base = HEIGHT - BOTTOM
  const [lower, upper] = [visible(plain), visible(hatched)]
  return (
    <>
      {lower > 0 && <rect className="plot-plain" x={x} y={base - lower} width={width} height={lower} />}
      {upper > 0 && (
        <rect
          className={width < THIN ? "plot-thin" : "plot-hatched"}
          x={x}
          y={base - lower - upper}
          width={width}
          height={upper}
          fill={width < THIN ? undefined : `url(#${hatch})`}
        />
      )}
    </>
  )
}

interface TicksProps {
  readonly ticks: ReadonlyArray<number>
  readonly formatTick: (amount: number) => string
  readonly left: number
  readonly width: number
  readonly heightOf: (amount: number) => number
}

/** Lines of the axis with their values. */
const Ticks = ({ formatTick, heightOf, left, ticks, width }: TicksProps) =>
  ticks.map((tick) => {
    const y = HEIGHT - BOTTOM - heightOf(tick)
    return (
      <g key={tick}>
        <line className="plot-line" x1={left} x2={width} y1={y + 0.5} y2={y + 0.5} />
        <text className="plot-text plot-tick" x={left - 8} y={y + 4}>
          {formatTick(tick)}
        </text>
      </g>
    )
  })

interface PlaceLabelProps {
  readonly column: PlotColumn
  readonly isLast: boolean
  readonly centre: number
  readonly width: number
}

/** Name of a column. That of the last one ends with the plot. */
const PlaceLabel = ({ centre, column, isLast, width }: PlaceLabelProps) => (
  <text
    className={isLast ? "plot-text plot-last" : "plot-text plot-place"}
    x={isLast ? width : centre}
    y={HEIGHT - 6}
  >
    {column.label}
  </text>
)

const Hatch = ({ id }: { readonly id: string }) => (
  <defs>
    <pattern id={id} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect className="plot-hatch-ground" width="5" height="5" />
      <rect className="plot-plain" width="2" height="5" />
    </pattern>
  </defs>
)

export const Plot = ({ caption, columns, formatTick, isWhole, label }: PlotProps) => {
  const [frame, width] = useElementWidth<HTMLDivElement>()
  const [shown, setShown] = useState<number>()
  const hatch = `hatch${useId().replaceAll(/\W/g, "")}`
  const ticks = axisTicks(Math.max(0, ...columns.map(({ hatched, plain }) => plain + hatched)), isWhole)
  const left = Math.max(...ticks.map((tick) => formatTick(tick).length)) * CHARACTER + 8
  const inner = Math.max(0, width - left)
  const space = inner / Math.max(1, columns.length)
  const columnWidth = Math.max(1, Math.min(MOST_WIDE, space * 0.7))
  const heightOf = (amount: number) => ((HEIGHT - TOP - BOTTOM) * amount) / (ticks.at(-1) ?? 1)
  const labels = labelledPlaces(columns.length, inner, LABEL_SPACE)
  const point = ({ clientX, currentTarget }: PointerEvent<SVGSVGElement>) => {
    const at = Math.floor((clientX - currentTarget.getBoundingClientRect().left - left) / space)
    setShown(at >= 0 && at < columns.length ? at : undefined)
  }
  return (
    <div className="plot" ref={frame}>
      <p className="plot-caption">{columns[shown ?? -1]?.text ?? caption}</p>
      <svg
        role="img"
        aria-label={label}
        width={width}
        height={HEIGHT}
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => setShown(undefined)}
      >
        <Hatch id={hatch} />
        {width > 0 && (
          <g aria-hidden="true">
            <Ticks {...{ formatTick, heightOf, left, ticks, width }} />
            {shown !== undefined && (
              <rect
                className="plot-pointed"
                x={left + space * shown}
                y={TOP}
                width={space}
                height={HEIGHT - TOP - BOTTOM}
              />
            )}
            {columns.map((column, at) => {
              const centre = left + space * (at + 0.5)
              const isLast = columns.length > 1 && at === columns.length - 1
              return (
                <g key={column.key}>
                  <Column {...{ column, hatch, heightOf }} x={centre - columnWidth / 2} width={columnWidth} />
                  {labels.has(at) && <PlaceLabel {...{ centre, column, isLast, width }} />}
                </g>
              )
            })}
          </g>
        )}
      </svg>
    </div>
  )
}
