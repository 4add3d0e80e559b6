"""Terrain, particles, points, instances and images of `.rscene`; projects and assets."""

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from diorama.cli.main import main
from diorama.formats import rscene
from diorama.formats.rscene.foreign import read as read_foreign
from diorama.formats.rscene.png import decode_png
from diorama.formats.rscene.terrain import gradient_noise
from diorama.runtime.load import check, format_of, load, save
from diorama.schemas.errors import SceneError

HEAD = b"raisim_engine_scene 2\n"
WORKSHOP = Path(__file__).parent.parent / "scenes" / "workshop.rscene"


def encode_png(
    pixels: NDArray[np.uint16], filters: list[int], *, depth: int = 16, channels: int = 1
) -> bytes:
    """A PNG with the given filter for each row, by the book and not by our decoder."""
    height, width = pixels.shape
    size = depth // 8
    step = size * channels
    rows, above = [], bytes(width * step)
    for row, kind in zip(pixels, filters, strict=True):
        line = b"".join(int(value).to_bytes(size, "big") + bytes(size * (channels - 1)) for value in row)
        out = bytearray([kind])
        for place, value in enumerate(line):
            a = line[place - step] if place >= step else 0
            b, c = above[place], above[place - step] if place >= step else 0
            p = a + b - c
            near = sorted((abs(p - x), order, x) for order, x in enumerate((a, b, c)))[0][2]
            out.append((value - (0, a, b, (a + b) // 2, near)[kind]) % 256)
        rows.append(bytes(out))
        above = line

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    colour = {1: 0, 3: 2, 2: 4, 4: 6}[channels]
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"".join(rows)))
        + chunk(b"IEND", b"")
    )


@given(st.data())
def test_images_of_every_filter_depth_and_channel_count(data: st.DataObject) -> None:
    width, height = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 5))
    depth, channels = data.draw(st.sampled_from([8, 16])), data.draw(st.sampled_from([1, 2, 3, 4]))
    values = data.draw(
        st.lists(st.integers(0, 2**depth - 1), min_size=width * height, max_size=width * height)
    )
    pixels = np.array(values, dtype=np.uint16).reshape(height, width)
    filters = data.draw(st.lists(st.integers(0, 4), min_size=height, max_size=height))
    image = encode_png(pixels, filters, depth=depth, channels=channels)
    assert decode_png(image).tolist() == pixels.tolist()
    with pytest.raises(ValueError, match="PNG"):
        decode_png(image[: data.draw(st.integers(0, 42))])  # before the first pixel


def region(keys: str, *, path: str = "/World/T", samples: str = "3 2") -> bytes:
    return f"terrain_region {path} {samples} 4 2 1 2 0.5 {keys}\n".encode()


def test_heights_as_written() -> None:
    world = rscene.read(HEAD + region("heights=0,1,2,3,4,5"))
    entity = world.find("/World/T")
    assert rscene.terrain_heights(world, entity).tolist() == [[0, 1, 2], [3, 4, 5]]
    points = rscene.terrain_points(world, entity)
    assert points[0, 0].tolist() == [-2, 1, 0]  # the file's lowest y is our farthest east
    assert points[1, 2].tolist() == [2, -1, -5]


def test_an_indented_region_is_one_too() -> None:
    world = rscene.read(HEAD + b" \tterrain_region /World/T 2 2 1 1 0 0 0 heights=1,2,3,4\n")
    assert rscene.terrain_heights(world, world.find("/World/T")).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_heights_from_an_image(tmp_path: Path) -> None:
    pixels = np.array([[32482, 37312], [0, 65535]], dtype=np.uint16)
    (tmp_path / "map.png").write_bytes(encode_png(pixels, [4, 2]))
    scene = HEAD + region(
        "sourceKind=png sourcePath=map.png pngHeightScale=0.5 pngHeightOffset=-10", samples="2 2"
    )
    world = rscene.read(scene)
    heights = rscene.terrain_heights(world, world.find("/World/T"), folder=tmp_path)
    assert heights.tolist() == (pixels * 0.5 - 10).tolist()
    (tmp_path / "map.png").write_bytes(b"no image")
    with pytest.raises(SceneError, match="expected a PNG"):
        rscene.terrain_heights(world, world.find("/World/T"), folder=tmp_path)


def test_an_image_is_found_below_the_asset_root(tmp_path: Path) -> None:
    pixels = np.array([[1, 2], [3, 4]], dtype=np.uint16)
    (tmp_path / "art").mkdir()
    (tmp_path / "art" / "map.png").write_bytes(encode_png(pixels, [0, 0]))
    scene = HEAD + b"asset_root art\n" + region("sourceKind=png sourcePath=map.png", samples="2 2")
    world = rscene.read(scene)
    heights = rscene.terrain_heights(world, world.find("/World/T"), folder=tmp_path)
    assert heights.tolist() == pixels.tolist()


def test_overrides_reach_terrain_and_particles() -> None:
    flat = region("sourceKind=procedural proceduralZScale=0")
    grains = b"granular /World/G particles 0 0 0 1 0 0 0 1 1 1 boxMax=1,1,1 spacing=0.1 maxParticles=50\n"
    overrides = (
        b"prefab_override /World/T property=proceduralHeightOffset value=7\n"
        b"prefab_override /World/T property=xSize value=100\n"
        b"prefab_override /World/G property=maxParticles value=5\n"
    )
    world = rscene.read(HEAD + overrides + flat + grains)
    points = rscene.terrain_points(world, world.find("/World/T"))
    assert (points[:, :, 2] == -7).all()
    assert points[0, :, 0].tolist() == [-50, 0, 50]
    assert len(rscene.particles(world, world.find("/World/G")).position) == 5


def test_heights_from_noise_follow_the_parameters() -> None:
    keys = "sourceKind=procedural proceduralFrequency=0.7 proceduralZScale=3 proceduralSeed=7"
    world = rscene.read(HEAD + region(keys, samples="40 30"))
    heights = rscene.terrain_heights(world, world.find("/World/T"))
    assert heights.shape == (30, 40)
    assert 0.01 < np.ptp(heights) <= 6
    again = rscene.read(HEAD + region(keys, samples="40 30"))
    assert (rscene.terrain_heights(again, again.find("/World/T")) == heights).all()
    other = rscene.read(HEAD + region(keys.replace("Seed=7", "Seed=8"), samples="40 30"))
    assert (rscene.terrain_heights(other, other.find("/World/T")) != heights).any()
    stepped = rscene.read(
        HEAD + region(f"{keys} proceduralStepSize=0.5 proceduralHeightOffset=10", samples="40 30")
    )
    levels = rscene.terrain_heights(stepped, stepped.find("/World/T")) - 10
    assert np.array_equal(levels, np.round(heights / 0.5) * 0.5)


def test_noise_is_zero_at_whole_coordinates_bounded_and_smooth() -> None:
    x, y = np.meshgrid(np.arange(-5.0, 5.0), np.arange(-5.0, 5.0))
    assert np.abs(gradient_noise(x, y, 1)).max() < 1e-12
    fine = gradient_noise(*np.meshgrid(np.linspace(-4, 4, 801), np.linspace(-4, 4, 801)), 1)
    assert np.abs(fine).max() <= 1
    assert np.abs(np.diff(fine, axis=0)).max() < 0.05  # 0.01 apart


def test_a_clone_has_the_heights_of_its_source() -> None:
    source = region("id=a heights=0,1,2,3,4,5", path="/World/A")
    world = rscene.read(HEAD + source + region("sourceKind=clone cloneSource=a", path="/World/B"))
    assert rscene.terrain_heights(world, world.find("/World/B")).tolist() == [[0, 1, 2], [3, 4, 5]]
    circle = region("id=a sourceKind=clone cloneSource=b", path="/World/A") + region(
        "id=b sourceKind=clone cloneSource=a", path="/World/B"
    )
    world = rscene.read(HEAD + circle)
    with pytest.raises(SceneError, match="clones itself"):
        rscene.terrain_heights(world, world.find("/World/B"))


def granular(keys: str) -> rscene.Particles:
    world = rscene.read(HEAD + f"granular /World/G particles 0 0 0 1 0 0 0 1 1 1 {keys}".encode())
    return rscene.particles(world, world.find("/World/G"))


def test_boxes_are_filled_with_particles_up_to_their_limit() -> None:
    box = "boxMin=-0.5,-0.5,0 boxMax=0.5,0.5,0.3 spacing=0.1 radius=0.04"
    full = granular(box)
    assert full.position.shape == (11 * 11 * 4, 3)
    assert full.position.min(axis=0) == pytest.approx([-0.5, -0.5, -0.3])
    assert full.position.max(axis=0) == pytest.approx([0.5, 0.5, 0.0])
    assert (full.radius == 0.04).all()
    some = granular(f"{box} maxParticles=50")
    assert (some.position == full.position[:50]).all()
    assert granular("boxMin=0,0,0 boxMax=1e9,1e9,1e9 spacing=1e-9 maxParticles=7").position.shape == (7, 3)
    assert granular("boxMin=0,0,0 boxMax=1,1,1 spacing=0").position.shape == (0, 3)
    written = granular(f"{box} positions=1,2,3;4,5,6 radii=0.1,0.2")
    assert written.position.tolist() == [[1, -2, -3], [4, -5, -6]]
    assert written.radius.tolist() == [0.1, 0.2]


def test_points_and_instances_come_in_our_axes() -> None:
    world = rscene.read(WORKSHOP)
    cloud = rscene.points(world, world.find("/World/Sensing/Map"))
    assert cloud.position[2].tolist() == [1.2, -0.5, -0.25]
    copies = rscene.instances(world, world.find("/World/Scatter/Pebbles"))
    assert copies.position[2].tolist() == [2, -0.3, 0]
    assert copies.orientation[1].tolist() == pytest.approx([0, 0, -0.6, 0.8])
    assert copies.scale[2].tolist() == [0.8, 0.8, 0.8]
    with pytest.raises(SceneError, match="expected a point_cloud"):
        rscene.points(world, world.find("/World"))


PROJECT = """raisim_engine2_project 1
name Our project
asset_directory assets
scene_directory scenes
default_scene scenes/main.rscene
description Things to try.
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "scenes").mkdir()
    (tmp_path / "assets" / "meshes").mkdir(parents=True)
    (tmp_path / "raisim_engine2_project").write_text(PROJECT)
    (tmp_path / "scenes" / "main.rscene").write_bytes(WORKSHOP.read_bytes())
    return tmp_path


def test_a_project_opens_its_default_scene(project: Path) -> None:
    found = rscene.read_project(project)
    assert (found.name, found.description) == ("Our project", "Things to try.")
    assert found.default_scene == project / "scenes" / "main.rscene"
    assert rscene.project_of(found.default_scene) == found
    world = load(project / "raisim_engine2_project")
    assert len(world) == len(rscene.read(WORKSHOP))


def test_a_project_is_not_written_over(project: Path) -> None:
    path = project / "raisim_engine2_project"
    with pytest.raises(SceneError, match="expected the path of a scene, got that of a project"):
        save(load(path), path)
    assert path.read_text() == PROJECT


def test_projects_with_errors_name_all_of_them(project: Path) -> None:
    (project / "raisim_engine2_project").write_text("raisim_engine2_project 1\nnme x\nname a\nname b\n")
    with pytest.raises(SceneError) as caught:
        rscene.read_project(project)
    assert [problem.line for problem in caught.value.problems] == [2, 4, None]
    (project / "raisim_engine2_project").write_text("raisim_engine2_project 9\n")
    with pytest.raises(SceneError, match="expected `raisim_engine2_project 1`"):
        rscene.read_project(project)


def test_assets_are_found_where_the_engine_looks(project: Path) -> None:
    scene = project / "scenes" / "main.rscene"

    def where(reference: str, head: bytes) -> Path | None:
        return rscene.resolve_asset(reference, scene, rscene.parse(head))

    one, two = b"raisim_engine_scene 1\nasset_root %b\n", b"raisim_engine_scene 2\nasset_root %b\n"
    assert where("", two % b".") is None
    assert where("/abs/a.obj", two % b".") == Path("/abs/a.obj")
    assert where("a.obj", two % b"../assets") == project / "scenes" / ".." / "assets" / "a.obj"
    assert where("a.obj", one % b".") == project / "assets" / "a.obj"
    assert where("a.obj", one % b"other") == project / "other" / "a.obj"
    (project / "scenes" / "a.obj").touch()
    assert where("a.obj", one % b".") == project / "scenes" / "a.obj"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("w.rscene", b'<?xml version="1.0"?>\n<raisim version="1.0"/>', "RaiSim's world configuration"),
        ("w.xml", b'<raisim version="1.0"/>', "RaiSim's world configuration"),
        ("w.re2", b"add box", "a script of RaiSim Engine 2"),
        ("w.rscene", b"hello", "missing raisim_engine_scene header"),
        ("w.rscene", b"", "missing raisim_engine_scene header"),
    ],
)
def test_other_files_are_refused_in_a_sentence(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SceneError, match=message):
        load(path)


def test_files_nobody_knows_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    path.write_bytes(b"words")
    with pytest.raises(SceneError, match="neither a scene nor a file of RaiSim's"):
        read_foreign(path)
    with pytest.raises(SceneError, match="open it by its path"):
        rscene.read(PROJECT.encode())


def test_the_format_is_known_by_its_ending(tmp_path: Path) -> None:
    assert format_of(WORKSHOP) == "rscene"
    world = load(WORKSHOP)
    save(world, tmp_path / "copy.rscene")
    assert (tmp_path / "copy.rscene").read_bytes() == WORKSHOP.read_bytes()
    (tmp_path / "bad.rscene").write_bytes(HEAD + b"gravity 1\n")
    assert [str(problem) for problem in check(tmp_path / "bad.rscene")] == [
        f"{tmp_path / 'bad.rscene'}:2: gravity: expected 3 positional fields, got 1"
    ]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["check", str(WORKSHOP)], "workshop.rscene: ok"),
        (["tree", str(WORKSHOP)], "/World/Workshop/Crate/Lid (object_lid)"),
        (["where", str(WORKSHOP), "/World/Workshop/Crate", "--origin", "47,8,400"], "-0.600  -0.200  -0.600"),
    ],
)
def test_the_command_line_knows_the_format(
    words: list[str], shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    assert shown in capsys.readouterr().out
